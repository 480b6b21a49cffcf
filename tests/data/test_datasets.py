"""The tables that ship with the package."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import pytest

from tallybayes.data import datasets


def test_the_penguins_are_all_there_with_their_missing_values() -> None:
    birds = datasets.penguins()
    assert {len(values) for values in birds.values()} == {344}
    assert Counter(birds["species"]) == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}
    n_missing = {name: values.count(None) for name, values in birds.items()}
    measured = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    assert n_missing == {"species": 0, "island": 0, **dict.fromkeys(measured, 2), "sex": 11, "year": 0}


@pytest.mark.parametrize(
    ("column", "kind"), [("island", str), ("bill_depth_mm", float), ("body_mass_g", int), ("sex", str), ("year", int)]
)
def test_cells_have_the_type_that_all_of_their_column_have(column: str, kind: type) -> None:
    assert {type(value) for value in datasets.penguins()[column] if value is not None} == {kind}


def test_a_row_is_as_it_was_written() -> None:
    row = [values[343] for values in datasets.penguins().values()]
    text = (files("tallybayes") / "data" / "penguins.csv").read_text().splitlines()
    assert ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in row) == text[-1]


def test_tennis_is_text_throughout() -> None:
    days = datasets.tennis()
    assert list(days) == ["outlook", "temperature", "humidity", "wind", "play"]
    assert {type(value) for values in days.values() for value in values} == {str}
    assert Counter(days["play"]) == {"yes": 9, "no": 5}


@pytest.mark.parametrize("load", [datasets.penguins, datasets.tennis])
def test_what_a_caller_does_to_the_table_is_his_own(load) -> None:
    load().popitem()
    next(iter(load().values())).clear()
    assert load() == load()
    assert all(load().values())


def test_the_penguins_come_with_their_source() -> None:
    given = (files("tallybayes") / "data" / "README.md").read_text()
    assert "Gorman" in given
    assert "CC0" in given
