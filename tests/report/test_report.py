"""A report can be made of every kind of model, names it, and escapes all text."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from tallybayes import MultinomialNB, NaiveBayes, report
from tallybayes.data import datasets
from tallybayes.errors import NotAvailableError, SettingError, UnlearnError
from tests.export.cases import CASES


class Page(HTMLParser):
    """Collects what a page loads and links to, and checks that its elements are closed in order."""

    VOID = ("meta", "input", "col", "br", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.styles = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [given["href"]] if given.get("href") else []
        self.loads += [given[name] for name in ("src", "srcset", "data", "poster", "action") if given.get(name)]
        self.styles += "style" in given
        assert not [name for name in given if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def made(model: object, *args: object, **options: object) -> tuple[report.Report, Page]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = report.make(model, *args, **options)
    return found, Page(found.html())


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model(name: str) -> None:
    found, page = made(CASES[name]().estimator)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.loads == []
    assert page.styles == 0
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert found.scorer is not None
    assert found.controls
    assert json.loads(json.dumps(found.as_dict(), default=str))


def test_labels_that_are_no_text_and_one_class() -> None:
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=60), "b": rng.choice(["x", None], 60)}
    for labels in (np.arange(60) % 2 == 0, np.arange(60) % 3, np.full(60, 7)):
        _, page = made(NaiveBayes(classical=True).fit(X, labels), X, labels)
        assert page.open == []


def test_a_hundred_classes_and_a_large_vocabulary() -> None:
    rng = np.random.default_rng(0)
    found, page = made(NaiveBayes(classical=True).fit({"a": rng.normal(size=500)}, np.arange(500) % 100))
    assert page.open == []
    counts = rng.poisson(0.01, size=(100, 18_000))
    found, page = made(MultinomialNB().fit(counts, np.arange(100) % 20))
    assert found.scorer is None or len(json.dumps(found.scorer)) <= report.MOST_BYTES
    assert page.open == []


def test_rows_that_were_not_learned_are_evaluated_as_test_rows() -> None:
    table = datasets.penguins()
    species = table.pop("species")
    half = {name: values[::2] for name, values in table.items()}, species[::2]
    other = {name: values[1::2] for name, values in table.items()}, species[1::2]
    model = NaiveBayes(classical=True).fit(*half)
    wrong = other[0], ["Chinstrap"] * len(other[1])
    with pytest.raises(UnlearnError, match="--test"):
        report.make(model, *wrong, method="leave-one-out")
    assert report.make(model, *wrong).evaluation.method == report.make(model, *other).evaluation.method == "test"
    assert report.make(model, *half).evaluation.method == "leave-one-out"
    with pytest.raises(SettingError, match="method must be"):
        report.make(model, *other, method="guess")


def test_the_policy_names_what_the_page_holds() -> None:
    import base64
    import hashlib

    html = made(NaiveBayes(classical=True).fit(datasets.tennis(), target="play"))[0].html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_a_title_is_made_of_the_target() -> None:
    found, _ = made(NaiveBayes(classical=True).fit(datasets.tennis(), target="play"))
    assert found.title == "Predicting play"
    assert "14 rows and 4 columns" in found.html()


def test_a_date_is_used_by_its_parts_and_names_break_after_underscores() -> None:
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 24, 300)
    days = rng.integers(1, 29, 300)
    table = {
        "written_at": [f"2025-03-{day:02d} {hour:02d}:15:00" for day, hour in zip(days, hours, strict=True)],
        "noise": rng.normal(size=300),
    }
    found, page = made(NaiveBayes().fit(table, hours < 12))
    assert "written_at" not in [each.column for each in found.importance.unused]
    assert any(each.column.startswith("written_at: ") for each in found.importance.columns)
    assert "written_<wbr>at: " in found.html()
    assert page.open == []


def test_typical_rows_are_likely_ones_without_what_is_not_used() -> None:
    table = datasets.penguins()
    species = table.pop("species")
    table["ring"] = [f"ring {i}" for i in range(len(species))]
    found, _ = made(NaiveBayes().fit(table, species), table, species)
    (adelie, *_), *_ = found.typical
    mass = np.array(table["body_mass_g"], dtype=float)[np.array(species) == "Adelie"]
    low, high = np.nanquantile(mass, (0.1, 0.9))
    assert low <= float(adelie["body_mass_g"]) <= high
    assert "ring" not in adelie
    read, _, _ = re.sub(r"<script.*?</script>", "", found.html(), flags=re.S).partition("<summary>Settings")
    assert not re.search(r"\bnats\b|hierarchical|×÷", read)


def test_large_pages_have_eight_digits_of_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    model = NaiveBayes().fit({"x": rng.normal(y), "c": rng.integers(0, 3, 90).astype(str)}, y)
    exact, _ = made(model)
    monkeypatch.setattr(report, "ROOMY", 0)
    short, _ = made(model)
    pairs = zip(exact.scorer["terms"], short.scorer["terms"], strict=True)
    found = [(np.array(a["scores"]), np.array(b["scores"])) for a, b in pairs if "scores" in a]
    assert any((a != b).any() for a, b in found)
    for a, b in found:
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_at_half_the_threshold_table_is_the_confusion_table() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = np.where(rng.random(3000) < 1 / (1 + np.exp(-x)), "b", "a")
    found, _ = made(NaiveBayes().fit({"x": x}, y), {"x": x}, y)
    (known,) = json.loads(re.search(r'id="decisions">(.*?)</script>', found.html(), re.S)[1])
    assert [known["negative"][100], known["positive"][100]] == found.evaluation.confusion[:, 1].tolist()


@pytest.mark.filterwarnings("ignore:no column is evidence")
def test_a_model_without_evidence_has_a_report_and_nothing_to_draw(tmp_path):
    table, labels = {"ticket": [f"u{i}" for i in range(30)]}, np.arange(30) % 2
    model = NaiveBayes().fit(table, labels)
    model.report(tmp_path / "without.html")
    model.report(tmp_path / "with.html", table, labels)
    with pytest.raises(NotAvailableError, match="nothing to draw but labels"):
        model.sample(3)
