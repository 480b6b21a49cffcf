"""``python -m tallybayes.cli``."""

import sys

from tallybayes.cli import main

sys.exit(main())
