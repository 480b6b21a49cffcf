"""Receipts for what was taken back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tallybayes
from tallybayes import families
from tallybayes.core.batch import Labels
from tallybayes.inspection.receipts import Receipt

FAMILY = families.Gaussian()


@pytest.fixture
def receipt() -> Receipt:
    before = tallybayes.tally(
        np.arange(5.0)[:, None], ["no", "yes", "no", "yes", "yes"], FAMILY, weight=[1, 2, 0.5, 1, 1]
    )
    gone = tallybayes.tally(np.arange(3.0)[:, None], ["no", "yes", "no"], FAMILY, weight=[1, 2, 0.5])
    labels = Labels.hard(np.array([0, 1, 0], dtype=np.int32), np.array([1, 2, 0.5]))
    return Receipt.of(labels, before, before - gone)


def test_a_receipt_counts_rows_and_weights(receipt: Receipt) -> None:
    assert receipt == Receipt(("no", "yes"), (2, 1), (1.5, 2.0), (1.5, 4.0), (0.0, 2.0))


def test_a_receipt_balances(receipt: Receipt) -> None:
    for before, weight, after in zip(receipt.before, receipt.weight, receipt.after, strict=True):
        assert before - weight == after


def test_a_receipt_prints_with_its_totals(receipt: Receipt) -> None:
    assert [line.split() for line in str(receipt).splitlines()] == [
        ["class", "rows", "weight", "before", "after"],
        ["no", "2", "1.5", "1.5", "0"],
        ["yes", "1", "2", "4", "2"],
        ["all", "3", "3.5", "5.5", "2"],
    ]


def test_large_figures_are_printed_in_full() -> None:
    """A receipt is to be checked: 1,234,567 must not become 1.23457e+06."""
    printed = str(Receipt(("no",), (1234567,), (1234567.0,), (23456789.0,), (22222222.0,)))
    assert printed.splitlines()[1].split() == ["no", "1,234,567", "1,234,567", "23,456,789", "22,222,222"]
    assert len({len(line) for line in printed.splitlines()}) == 1  # the columns stand one below the other


def test_a_receipt_goes_to_json(receipt: Receipt) -> None:
    plain = json.loads(json.dumps(receipt.as_dict()))
    assert plain["no"] == {"rows": 2, "weight": 1.5, "before": 1.5, "after": 0.0}
    assert list(plain) == ["no", "yes"]
