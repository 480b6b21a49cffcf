"""The model of a slice of a ledger is that of the rows of the slice, whatever the family and the slice."""

from dataclasses import replace
from fractions import Fraction
from operator import mul

import numpy as np
import pytest

from tallybayes import Ledger, rows
from tallybayes.core.tally import Tally
from tallybayes.storage.ledger import blobs, core, sums
from tests.refined import refined, table

from .cases import FAMILY_CASES
from .compare import assert_same_tally

KEYS = ("north/1", "north/2", "south/1", "south/2")
SLICES = {
    "all": {},
    "since": {"since": 5},
    "window": {"since": 3, "until": 80},
    "one key": {"keys": "north/2"},
    "keys": {"keys": ["north/*", "south/1"], "until": 100},
    "without": {"without": ["south/2"], "since": 9},
    "half-life": {"half_life": 13, "until": 90},
    "half-life of keys": {"half_life": 7.5, "keys": ["north/1", "south/1"]},
    "half-life without": {"half_life": 9, "without": ["south/2"], "since": 20, "until": 110},
    "last": {"window": 20},
}


def chosen(period, key, newest, since=-1000, until=1000, keys=None, without=(), half_life=None, window=None):
    """How much rows of a period and key count in a slice."""
    wanted = KEYS if keys is None else [keys] if isinstance(keys, str) else keys
    names = {name for name in KEYS for want in wanted if name == want or want == f"{name.split('/')[0]}/*"}
    last = min(until, newest)
    since = since if window is None else last - window + 1
    if not since <= period <= until or key not in names - set(without):
        return 0.0
    return 1.0 if half_life is None else 0.5 ** (((until if until < 1000 else last) - period) / half_life)


@pytest.fixture(params=["contents", "sums", "both"])
def folding(request, monkeypatch):
    """Whether batches are read from the contents, from the sums, or from both."""
    monkeypatch.setattr(core, "FOLD", {"contents": 10**9, "sums": 0, "both": 35}[request.param])
    monkeypatch.setattr(core, "SHARE", 10**9)
    if request.param != "contents":  # as of many keys, and all but one are all but few
        monkeypatch.setattr(sums, "FEW", {"sums": 0, "both": 1}[request.param])


def batches(seed=0, n=60, last=130):
    rng = np.random.default_rng(seed)
    return [(int(p), KEYS[k]) for p, k in zip(rng.integers(0, last, n), rng.integers(0, len(KEYS), n), strict=True)]


@pytest.mark.parametrize("case", FAMILY_CASES, ids=str)
def test_a_slice_is_the_tally_of_its_rows(case, tmp_path, folding):
    plan = case.model(case.random_table(5, 1))
    whole = case.random_table(120, 2, (1.0, 2.0, 0.5))
    ledger, parts = Ledger.create(tmp_path / "x.ledger", plan, period="step"), []
    with ledger.appending(every=15) as append:
        for n, (period, key) in enumerate(batches(n=40)):
            found = case.count(case.retold(whole.take(slice(3 * n, 3 * n + 3))))
            parts.append((period, key, found))
            append(found, period=period, key=key, batch_id=f"{n}")
    newest = max(period for period, _, _ in parts)
    for each in SLICES.values():
        counts = [(chosen(period, key, newest, **each), part) for period, key, part in parts]
        last = max(p for (f, _), (p, _, _) in zip(counts, parts, strict=True) if f > 0)
        if "half_life" in each and "until" not in each:  # the newest period of the slice counts in full
            counts = [(chosen(period, key, last, **each), part) for period, key, part in parts]
        want = sum((part * f for f, part in counts if f), plan.blank().tally)
        assert_same_tally(ledger.model(**each).tally, want, scale=want)
    assert ledger.verify().is_sound


@pytest.mark.parametrize("case", FAMILY_CASES, ids=str)
def test_forgetting_is_never_having_had_the_rows(case, tmp_path, folding):
    plan, whole = case.model(case.random_table(5, 1)), case.random_table(60, 3, (1.0, 2.0))
    one, other = (Ledger.create(tmp_path / f"{name}.ledger", plan, period="step") for name in "ab")
    with one.appending() as append_one, other.appending() as append_other:
        for n, (period, key) in enumerate(batches(n=20)):
            found = case.tally(whole.take(slice(3 * n, 3 * n + 3)))
            for append in (append_one, append_other) if key != "south/1" else (append_one,):
                append(found, period=period, key=key, batch_id=f"{n}")
    one.forget("south/1")
    for each in ({}, {"since": 5, "until": 80}, {"keys": "south/2"}, {"half_life": 10}):
        mine, want = one.model(**each), other.model(**each)
        assert_same_tally(mine.tally, want.tally, scale=want.tally)
        assert mine.provenance.rows == want.provenance.rows
    assert one.verify().is_sound


@pytest.mark.parametrize("refine", [True, False])
def test_rows_are_counted_as_the_model_counts_them(refine, tmp_path, folding):
    """Columns of every kind, pairs, words and new levels: all at once, one by one and learned by the model alike."""
    estimator = refined()
    plan = estimator.model_ if refine else estimator.model_.without_refinement()
    data, labels = table(80, 8, new_values=True)
    for name in ("wait", "in come"):  # a row that is learned has only what its distribution has
        data[name] = [None if number is None or number <= 0 else number for number in data[name]]
    where = batches(4, 80, 30)
    ledger = Ledger.create(tmp_path / "x.ledger", plan, period="step")
    with ledger.appending(every=33) as append:
        for n, (period, key) in enumerate(where):
            row = {name: [values[n]] for name, values in data.items()}
            append(row, [labels[n]], period=period, key=key, batch_id=f"{n}")
    assert len(append.receipts) == 80

    def learned(use):
        picked = {name: [values[n] for n in use] for name, values in data.items()}
        blank = refined().blank()
        blank.model_ = plan.blank()
        return blank.partial_fit(picked, [labels[n] for n in use]).model_

    for each in ({}, {"since": 3, "until": 20}, {"keys": ["north/1", "south/2"]}):
        use = [n for n, (period, key) in enumerate(where) if chosen(period, key, 30, **each)]
        mine, want = ledger.model(**each), learned(use)
        assert_same_tally(mine.tally, want.tally)
        some = {name: values[:10] for name, values in data.items()}
        np.testing.assert_allclose(
            mine.posterior(rows(mine, some)), want.posterior(rows(want, some)), rtol=1e-9, atol=1e-12
        )
        assert mine.provenance.rows == len(use)


@pytest.mark.parametrize("slice_", [{}, {"keys": "k"}, {"keys": "k", "half_life": 1e15}], ids=str)
def test_a_sum_of_far_away_numbers_keeps_its_spread(slice_, tmp_path, monkeypatch):
    """Moments are merged about their means: at 1e9 a raw sum of squares would have no digit left."""
    monkeypatch.setattr(core, "FOLD", 0)
    monkeypatch.setattr(core, "SHARE", 10**9)
    monkeypatch.setattr(sums, "FEW", 0)
    case = next(case for case in FAMILY_CASES if case.family.name == "gaussian")
    rng = np.random.default_rng(0)
    whole = replace(case.random_table(300, 2, (1.0,)), x=1e9 + rng.normal(0, 1e-2, (300, 3)))
    ledger = Ledger.create(tmp_path / "x.ledger", case.model(whole.take(slice(0, 5))), period="step")
    with ledger.appending() as append:
        for n in range(100):
            append(case.tally(whole.take(slice(3 * n, 3 * n + 3))), period=n, key="k")
        append(case.tally(whole.take(slice(0, 3))), period=1, key="another")
    want: Tally = case.tally(whole)
    if not slice_:
        want = want + case.tally(whole.take(slice(0, 3)))
    mine, theirs = (t.blocks["gaussian"].summary for t in (ledger.model(**slice_).tally, want))
    np.testing.assert_allclose(mine.m2, theirs.m2, rtol=1e-4)  # of numbers whose last digit is 1e-7
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-15)


def test_a_far_row_of_almost_no_weight_takes_no_digits():
    """The kernel sums about the first mean; one that hardly counts must not decide what is rounded away."""
    rng = np.random.default_rng(0)
    moments = np.column_stack((np.ones(50), rng.normal(5, 1, 50), np.zeros(50)))
    moments[0, :2] = 1e-20, 1e9
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    records = [(*blobs.packed(none, none, np.zeros(0), one, one, each[None]),) for each in moments]
    keys, group = np.ones((50, sums.PAGE), dtype=bool), np.zeros(sums.FINE, dtype=np.int32)
    found = blobs.summed(records, keys, group, one).centred[0]
    weight, mean = (list(map(Fraction, column)) for column in moments.T[:2])
    middle = sum(map(mul, weight, mean)) / sum(weight)
    squares = sum(w * (m - middle) ** 2 for w, m in zip(weight, mean, strict=True))
    np.testing.assert_allclose(found, [float(sum(weight)), float(middle), float(squares)], rtol=1e-12)
