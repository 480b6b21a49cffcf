"""What two models share is not counted twice."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.core.lineage import MOST, Lineage
from tallybayes.core.model import Model
from tallybayes.errors import SettingError
from tests.refined import refined, table

RNG = np.random.default_rng(0)
N = 60
TABLE = {
    "size": RNG.normal(size=N).tolist(),
    "town": RNG.choice(["rom", "bern"], N).tolist(),
    "note": [" ".join(RNG.choice(["tea", "sun", "ham"], 3)) for _ in range(N)],
}
LABELS = np.array(["x", "y"])[RNG.integers(0, 2, N)].tolist()
SHARED = "the two models learned on from one base, so its rows would count twice; merge them with that base"


def rows(first: int, last: int) -> tuple[dict[str, list[Any]], list[str]]:
    return {name: values[first:last] for name, values in TABLE.items()}, LABELS[first:last]


def fitted(first: int, last: int) -> NaiveBayes:
    return NaiveBayes(kind={"note": "text"}, classical=True).fit(*rows(first, last))


def by_file(model: NaiveBayes, directory: Path) -> NaiveBayes:
    model.save(directory / "copy.tally")
    return tallybayes.load(directory / "copy.tally")


COPIES: dict[str, Callable[[NaiveBayes, Path], NaiveBayes]] = {
    "copied": lambda model, _: copy.deepcopy(model),
    "pickled": lambda model, _: pickle.loads(pickle.dumps(model)),
    "saved": by_file,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("began", ["fit", "partial_fit", "blank", "sum"])
def test_copies_of_one_base(how: str, began: str, tmp_path: Path) -> None:
    base = fitted(0, 20)
    if began == "partial_fit":
        base = fitted(0, 10).partial_fit(*rows(10, 20))
    elif began == "blank":
        base = base.blank().partial_fit(*rows(0, 20))
    elif began == "sum":
        base = fitted(0, 10) + fitted(10, 20)
    first, second, third = (COPIES[how](base, tmp_path) for _ in range(3))
    first.partial_fit(*rows(20, 40))
    second.partial_fit(*rows(40, 50)).partial_fit(*rows(50, 60))
    for one, other in ((first, second), (second, first), (base, first), (first, third)):
        with pytest.raises(SettingError, match=SHARED):
            one + other
        with pytest.raises(SettingError, match=SHARED):
            _ = one.model_ + other.model_
    whole = fitted(0, 60)
    for both in (first + second.since(base), first.since(base) + second, first.since(base) + second.since(base) + base):
        assert both.model_.provenance.rows == 60
        np.testing.assert_allclose(both.predict_proba(TABLE), whole.predict_proba(TABLE), rtol=1e-9)
        with pytest.raises(SettingError, match=SHARED):
            both + second
    assert (first + third.since(base)).tally_ == first.tally_


def test_a_base_must_be_what_they_share() -> None:
    old = fitted(0, 10)
    base = copy.deepcopy(old).partial_fit(*rows(10, 20))
    first, second = (copy.deepcopy(base).partial_fit(*rows(a, a + 20)) for a in (20, 40))
    with pytest.raises(SettingError, match=SHARED):  # they share more than the old one
        first + second.since(old)
    with pytest.raises(SettingError, match="did not learn on from this base: it has other rows"):
        second.since(fitted(20, 40))
    with pytest.raises(SettingError, match="did not learn on from this base: it has never been in the state of that"):
        second.since(first)


def test_what_still_adds() -> None:
    base = fitted(0, 20)
    parts = [base.blank().partial_fit(*rows(a, a + 20)) for a in (20, 40)]
    assert (base + parts[0] + parts[1]).model_.provenance.rows == 60
    assert (fitted(0, 20) + fitted(20, 40)).class_count_.sum() == 40
    assert (base + base).class_count_.tolist() == (2 * base.class_count_).tolist()  # asked for
    assert (base + base.blank()).model_ == base.model_
    assert sum([part.tally_ for part in parts], start=base.tally_).class_weight.sum() == 60
    one_row = [base.blank().partial_fit(*rows(0, 1)).partial_fit(*rows(a, a + 20)) for a in (20, 40)]
    assert (one_row[0] + one_row[1]).class_count_.sum() == 42  # the same row at two sites is two rows
    forgotten = copy.deepcopy(base).unlearn(*rows(0, 20)).partial_fit(*rows(20, 40))
    assert (base + forgotten).class_count_.sum() == 40


DERIVED: dict[str, Callable[[Model], Model]] = {
    "select": lambda model: model.select(["size", "town"]),
    "without_refinement": Model.without_refinement,
    "with_prior": lambda model: model.with_prior("uniform"),
}


@pytest.mark.parametrize("how", DERIVED)
def test_models_of_the_same_rows_share_them(how: str) -> None:
    derived, model = DERIVED[how], fitted(0, 20).model_
    base, first = derived(model), derived(fitted(0, 20).partial_fit(*rows(20, 40)).model_)
    more = derived(fitted(40, 60).model_)
    second = base.with_rows(more.tally, 20)
    assert base.lineage == model.lineage
    assert base.blank().lineage == Lineage()
    assert base + base.blank() == base
    with pytest.raises(SettingError, match=SHARED):
        _ = first + second
    assert (first + second.since(base)).provenance.rows == 60
    assert (first + more).provenance.rows == 60


def test_copies_with_pairs_weights_and_offsets_share_rows() -> None:
    base = refined().model_
    rows, labels = table(40, 8)
    first, second = (copy.deepcopy(refined()).partial_fit(rows, labels).model_ for _ in range(2))
    with pytest.raises(SettingError, match=SHARED):
        _ = first + second
    both = first + second.since(base)
    assert both.tally.class_weight.sum() == base.tally.class_weight.sum() + 80
    assert both.settings.weights == base.settings.weights
    assert both.settings.offsets.keys() == base.settings.offsets.keys()


def test_a_fitted_model_is_saved_to_the_same_bytes(tmp_path: Path) -> None:
    fitted(0, 20).save(tmp_path / "a")
    fitted(0, 20).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_long_lineage_forgets_its_oldest_states_but_not_its_root() -> None:
    base = Lineage.of(fitted(0, 10).tally_)
    first, second = base, base
    for _ in range(2 * MOST):
        first, second = first.changed(), second.changed()
    assert len(first.states) == MOST
    with pytest.raises(SettingError, match=SHARED):
        first.joined(second)
    assert first.joined(second.since(base)).roots[0] == base.roots[0]
