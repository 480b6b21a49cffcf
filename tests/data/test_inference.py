"""What a profile of a column suggests that it is."""

from __future__ import annotations

import pytest

from tallybayes.core.schema import Column
from tallybayes.data.inference import (
    Profile,
    as_given,
    check_known,
    infer,
    kind_for,
    with_missing_level,
)
from tallybayes.errors import DataError, SettingError
from tallybayes.families import FAMILIES, textbook_family

WORDS = tuple(f"w{i:02}" for i in range(21))


@pytest.mark.parametrize(("n", "kind"), [(20, "category"), (21, "ignored")])
def test_more_than_twenty_different_words_and_nothing_else_are_an_identifier(n: int, kind: str) -> None:
    assert infer(Profile("x", "text", n, 0, WORDS[:n])).kind == kind


def test_missing_values_do_not_make_an_identifier_a_category() -> None:
    """Every row that has a name has its own."""
    assert infer(Profile("x", "text", 30, 9, WORDS)).kind == "ignored"
    assert infer(Profile("x", "text", 30, 8, WORDS)).kind == "category"  # one word twice


def test_what_may_go_on_is_evaluated_by_its_type_alone() -> None:
    """The first rows of a stream may all differ, count up or be 0 and 1; the next may not."""
    profiles = [
        Profile("x", "text", 21, 0, WORDS),
        Profile("x", "integer", 30, 0, low=0, high=29, numbered=True),
        Profile("x", "integer", 30, 0, low=0, high=1),
    ]
    assert [infer(p).kind for p in profiles] == ["ignored", "ignored", "boolean"]
    assert [infer(p, whole=False).kind for p in profiles] == ["category", "numeric", "numeric"]


@pytest.mark.parametrize(
    ("storage", "low", "high", "kind"),
    [
        ("integer", 0, 1, "boolean"),
        ("number", 0, 1, "numeric"),  # a share may well be 0 or 1
        ("integer", 0, 2, "numeric"),
        ("integer", -1, 1, "numeric"),
        ("integer", 1, 1, "numeric"),
    ],
)
def test_only_whole_zeros_and_ones_are_yes_and_no(storage, low: float, high: float, kind: str) -> None:
    assert infer(Profile("x", storage, 9, 0, low=low, high=high)).kind == kind


def test_declared_levels_stay_whatever_occurs() -> None:
    found = infer(Profile("x", "text", 30, 0, ("b",), declared=("c", "b", "a")))
    assert (found.kind, found.levels) == ("category", ("c", "b", "a"))
    assert infer(Profile("x", "text", 21, 0, WORDS, declared=WORDS)).kind == "ignored"  # an identifier all the same


@pytest.mark.parametrize("storage", ["text", "number", "integer", "boolean", "date", "empty"])
def test_without_a_value_there_is_nothing_to_go_by(storage) -> None:
    levels = () if storage in ("text", "boolean") else None
    assert infer(Profile("x", storage, 5, 5, levels)).reason == "no value at all"


@pytest.mark.parametrize("storage", ["date", "text", "other"])
@pytest.mark.parametrize("kind", ["numeric", "count"])
def test_what_is_no_number_cannot_be_given_to_be_one(storage, kind) -> None:
    with pytest.raises(DataError, match=f"column 'x' .*cannot be {kind}.*kind={{'x': 'category'}}"):
        as_given(Profile("x", storage, 3, 0, ("a",) if storage == "text" else None), kind)


def test_a_column_without_a_value_can_be_given_to_be_anything() -> None:
    for kind in ("numeric", "count", "category", "boolean"):
        assert as_given(Profile("x", "empty", 3, 3), kind).kind == kind


def test_missing_values_are_given_in_the_reason() -> None:
    assert as_given(Profile("x", "number", 3000, 1200), "numeric").reason == "as given, 1,200 missing"
    assert as_given(Profile("x", "text", 3, 1, ("a", "b")), "category").reason == "as given, 2 levels, 1 missing"


def test_large_whole_numbers_are_given_to_the_last_digit() -> None:
    reach = infer(Profile("fnlwgt", "integer", 9, 0, low=12285.0, high=1484705.0))
    assert (reach.reason, reach.whole) == ("whole numbers from 12285 to 1484705", True)
    assert infer(Profile("x", "number", 9, 0, low=0.5, high=1e300)).reason == "numbers from 0.5 to 1e+300"


def test_missing_becomes_the_last_level_once() -> None:
    column = Column("x", "category", ("a", "b"), "text")
    once = with_missing_level(column)
    assert once.levels == with_missing_level(once).levels == ("a", "b", None)
    assert once.reason == "text; missing is a level"


def test_settings_for_columns_that_do_not_exist() -> None:
    check_known("kind", {"a": 1}, ["a", "b"])
    with pytest.raises(SettingError, match="kind names the column 'c', which there is not; the table has a, b"):
        check_known("kind", {"a": 1, "c": 2}, ["a", "b"])


def test_every_kind_has_a_textbook_family_that_reads_it() -> None:
    for kind in ("numeric", "category", "boolean", "count", "text"):
        assert kind in FAMILIES[textbook_family(kind)].reads
        assert sum(kind in family.textbook for family in FAMILIES.values()) == 1


def test_a_chosen_family_says_what_the_column_is() -> None:
    assert kind_for("multinomial", "integer") == "count"
    assert kind_for("multinomial", "text") == "text"
    assert kind_for("bernoulli", "text") == "boolean"
    assert kind_for("gaussian", "text") == "numeric"  # which is refused afterwards
