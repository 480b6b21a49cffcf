"""The spam filter."""

import os

import pytest

if os.environ.get("CI") != "true":  # where all extras are installed
    pytest.importorskip("selectolax", reason="mail is read with the extra mail: pip install 'tallybayes[mail]'")
