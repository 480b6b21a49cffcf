"""Records that are changed without checks."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tallybayes.core.provenance import Provenance
from tallybayes.core.records import changed
from tallybayes.core.settings import Settings


def test_a_changed_record_is_a_replaced_one():
    before = Provenance(target="y", rows=3)
    after = changed(before, rows=4)
    assert after == replace(before, rows=4)
    assert before.rows == 3
    with pytest.raises(FrozenInstanceError):
        after.rows = 5


def test_what_was_worked_out_from_the_old_fields_is_left_behind():
    before = Settings({})
    vars(before)["worked_out"] = 1
    assert "worked_out" not in vars(changed(before, prior="uniform"))
