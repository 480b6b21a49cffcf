"""What a notebook shows: one style, everything escaped, bars within their place."""

from __future__ import annotations

import re

import pytest

from tallybayes import NaiveBayes, datasets
from tallybayes.core.notebook import STYLE, Bar, grid


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    table = datasets.penguins()
    table["species"] = [f"<i>{label}</i>" for label in table["species"]]
    model = NaiveBayes().fit(table, target="species")
    plain = NaiveBayes(classical=True).fit(table, target="species")
    plain.unlearn({name: values[:9] for name, values in table.items()})
    records = {
        "estimator": model,
        "model": model.model_,
        "schema": model.schema_,
        "tally": model.tally_,
        "weights": model.model_.settings.weights,
        "explanation": model.explain({"island": "Dream"}, interval=0.9),
        "evaluation": model.evaluate(table),
        "receipt": plain.receipt_,
    }
    return {name: record._repr_html_() for name, record in records.items()}


@pytest.mark.parametrize(
    "name", ["estimator", "model", "schema", "tally", "weights", "explanation", "evaluation", "receipt"]
)
def test_every_record_has_the_one_style_and_escapes_names(shown: dict[str, str], name: str) -> None:
    page = shown[name]
    assert STYLE in page
    assert "<i>Adelie" not in page
    for tag in ("details", "table", "div", "tr", "td"):
        assert page.count(f"<{tag}>") + page.count(f"<{tag} ") == page.count(f"</{tag}>")
    assert all(0.0 <= float(width) <= 100.0 for width in re.findall(r"width:([\d.]+)%", page))


def test_the_diagram_of_scikit_learn_is_kept(shown: dict[str, str]) -> None:
    assert "sk-top-container" in shown["estimator"]
    bundle = NaiveBayes(classical=True).fit({"a": ["x", "y"]}, ["p", "q"])._repr_mimebundle_()
    assert "sk-top-container" in bundle["text/html"]
    assert "tallybayes" in bundle["text/html"]


def test_bars_stay_in_their_place() -> None:
    page = grid(("a", ""), [("x", Bar(-3.0, True, 9.0)), ("y", Bar(2.0, False, 0.5))])
    assert "left:0.0%;width:50.0%" in page
    assert "left:0;width:100.0%" in page
