"""The report in a real browser: its what-if gives Python's probabilities; it is quiet, reachable and safe."""

from __future__ import annotations

import json
import urllib.parse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import GaussianNB, MultinomialNB, NaiveBayes, report
from tallybayes.data import datasets
from tallybayes.report import write
from tests.end_to_end.browsing import PHONE, Page, serious
from tests.export.cases import mixed, mixed_table

SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'&amp;</template>"


@pytest.fixture(scope="module")
def penguins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NaiveBayes]:
    table = datasets.penguins()
    species = table.pop("species")
    model = NaiveBayes(numeric="gaussian", max_pairs=0).fit(table, species)
    path = tmp_path_factory.mktemp("report") / "penguins.html"
    model.report(path, table, species, title="Penguins", target="species")
    return path, model


def written(tmp_path: Path, model: Any, *data: Any) -> str:
    write(model, tmp_path / "page.html", *data)
    return (tmp_path / "page.html").as_uri()


def test_the_what_if_gives_the_probabilities_of_python(browser: Any, tmp_path: Path) -> None:
    """1,000 random rows of a mixed model with missing values, scored by the page's own script."""
    case = mixed(calibration="temperature")
    table, _ = mixed_table(1000, 11, new_values=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = case.estimator.predict_proba(table)
    page = Page(browser, written(tmp_path, case.estimator))
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    found = page.evaluate("(rows) => rows.map((row) => window.whatIf.probabilities(row))", rows)
    np.testing.assert_allclose(np.array(found), expected, rtol=0, atol=1e-9)
    assert page.wrong == []


def test_what_is_set_by_hand_is_what_python_says(browser: Any, penguins: tuple[Path, NaiveBayes]) -> None:
    path, model = penguins
    page = Page(browser, path.as_uri())
    page.get_by_label("bill_length_mm", exact=True).fill("46.1")
    page.get_by_label("island", exact=True).select_option("Biscoe")
    row = {**dict.fromkeys(model.feature_names_in_), "bill_length_mm": 46.1, "island": "Biscoe"}
    expected = model.predict_proba([row])[0]
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), expected, atol=1e-9)
    verdict = page.locator("#verdict").inner_text()
    assert verdict == f"{model.classes_[expected.argmax()]}: {expected.max():.1%}"
    total = page.locator("#reasons tr").last.locator("td").first.inner_text()
    assert float(total.replace("−", "-")) == pytest.approx(model.explain(row).total, abs=0.006)
    again = Page(browser, page.url)  # the address keeps what was set
    np.testing.assert_allclose(again.evaluate("whatIf.answer()"), expected, atol=1e-9)
    again.get_by_role("button", name="clear all").click()
    nothing = model.predict_proba([dict.fromkeys(model.feature_names_in_)])[0]
    np.testing.assert_allclose(again.evaluate("whatIf.answer()"), nothing, atol=1e-9)
    again.get_by_label("typical row of class").select_option("Gentoo")
    assert again.locator("#verdict").inner_text().startswith("Gentoo")
    assert page.wrong == again.wrong == []


@pytest.mark.parametrize("viewport", [None, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_quiet_and_reachable(browser: Any, penguins: tuple[Path, NaiveBayes], viewport: Any, scheme: str) -> None:
    page = Page(browser, penguins[0].as_uri(), color_scheme=scheme, **({"viewport": viewport} if viewport else {}))
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.asked == [penguins[0].as_uri()]
    assert page.wrong == []


def test_everything_is_done_by_keyboard(browser: Any, penguins: tuple[Path, NaiveBayes]) -> None:
    page = Page(browser, penguins[0].as_uri())
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        if reached[-1] == "against":
            break
    assert reached[0] == "Skip to content"
    assert {"clear", "typical", "label", "against"} <= set(reached)
    assert {f"w{i}" for i in range(5)} <= set(reached)
    page.get_by_label("island", exact=True).focus()
    before = page.locator("#verdict").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#verdict").inner_text() != before
    page.get_by_label("bill_length_mm, slider").focus()
    page.keyboard.press("End")
    assert page.get_by_label("bill_length_mm", exact=True).input_value() != ""
    assert page.wrong == []


def test_sections_are_reached_without_losing_what_was_set(browser: Any, penguins: tuple[Path, NaiveBayes]) -> None:
    page = Page(browser, f"{penguins[0].as_uri()}#island=Dream")
    page.get_by_role("link", name="Columns", exact=True).click()
    assert page.url.endswith("#island=Dream")
    assert page.evaluate("document.activeElement.id") == "columns-title"
    assert page.get_by_label("island", exact=True).input_value() != ""
    section = Page(browser, f"{penguins[0].as_uri()}#performance")
    assert section.url.endswith("#performance")
    from playwright.sync_api import expect

    # It scrolls smoothly. The page forbids eval, so wait_for_function would work only if it had scrolled at once.
    expect(section.locator("#performance")).to_be_in_viewport()
    assert section.evaluate("window.scrollY") > 0
    section.get_by_label("island", exact=True).select_option("Dream")
    assert section.url.endswith("#island=Dream")
    assert page.wrong == section.wrong == []


def test_script_in_names_and_values_is_text(browser: Any, tmp_path: Path) -> None:
    table = {SCRIPT: [SCRIPT, "plain"] * 30, "n" + SCRIPT: np.arange(60.0), "kept": ["__proto__", "constructor"] * 30}
    labels = [SCRIPT + "1", "constructor"] * 30
    model = NaiveBayes(classical=True).fit(table, labels)
    model.report(tmp_path / "page.html", table, labels, title=SCRIPT, target=SCRIPT)
    address = (tmp_path / "page.html").as_uri()
    page = Page(
        browser, f"{address}#{urllib.parse.urlencode({SCRIPT: SCRIPT, 'other' + SCRIPT: '1', '__proto__': '2'})}"
    )
    assert page.get_by_label(SCRIPT, exact=True).locator("option").nth(1).inner_text() == SCRIPT
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == SCRIPT
    row = {SCRIPT: SCRIPT, "n" + SCRIPT: None, "kept": None}
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), model.predict_proba([row])[0], atol=1e-9)
    assert page.wrong == []


def test_words_are_typed(browser: Any, tmp_path: Path) -> None:
    from tallybayes import Model, Settings, families

    counts = np.array([[3, 0, 1], [2, 0, 0], [0, 2, 1], [0, 3, 0]])
    family = families.Multinomial()
    tally = tallybayes.tally(counts, ["spam", "spam", "ham", "ham"], family, names=["money", "meeting", "today"])
    model = Model(Settings({"multinomial": family}), tally)
    page = Page(browser, written(tmp_path, model))
    page.get_by_label("words", exact=True).fill("Money, money today!")
    expected = MultinomialNB().fit(counts, ["spam", "spam", "ham", "ham"]).predict_proba([[2, 0, 1]])[0]
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), expected, atol=1e-9)
    assert page.wrong == []


def test_a_text_is_typed(browser: Any, tmp_path: Path) -> None:
    mails = [
        "cheap money now, win money",
        "meeting about the budget today",
        "win a cheap prize",
        "the budget and the team",
    ]
    table = {"mail": mails * 15, "length": [len(mail) for mail in mails] * 15}
    model = NaiveBayes(kind={"mail": "text"}, classical=True).fit(table, ["spam", "ham"] * 30)
    page = Page(browser, written(tmp_path, model, table, ["spam", "ham"] * 30))
    typed = "Win CHEAP tickets; don't miss today's <b>budget</b>!"
    page.get_by_label("mail", exact=True).fill(typed)
    expected = model.predict_proba([{"mail": typed, "length": None}])[0]
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), expected, atol=1e-9)
    assert "budget" in page.locator(".words").inner_text()
    again = Page(browser, page.url)
    np.testing.assert_allclose(again.evaluate("whatIf.answer()"), expected, atol=1e-9)
    assert page.wrong == again.wrong == []


def test_a_thousand_columns_are_paged(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1000)), np.repeat(["a", "b"], 100)
    X[100:, :20] += 1.0
    model = GaussianNB().fit(X, y)
    page = Page(browser, written(tmp_path, model, X, y))
    assert (tmp_path / "page.html").stat().st_size < 2_000_000
    assert page.locator("#pictures article").count() == 12
    page.locator("#pictures-pager").get_by_role("button", name="next").click()
    assert page.locator("#pictures article").count() == 12
    page.get_by_label("find a column").fill("x123")
    assert page.locator(".control").count() == 1
    page.get_by_label("x123", exact=True).fill("0.5")
    row = np.full((1, 1000), np.nan)
    row[0, 123] = 0.5
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), model.predict_proba(row)[0], atol=1e-9)
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"1,000 columns: the page is there after {loaded:.0f} ms")
    assert page.wrong == []


def test_a_hundred_columns_react_at_once(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 500)
    X = rng.normal(size=(500, 100)) + y[:, None] * 0.1
    page = Page(browser, written(tmp_path, GaussianNB().fit(X, y)))
    page.get_by_label("typical row of class").select_option("3")
    took = page.evaluate("(() => { const t = performance.now(); whatIf.answer(); return performance.now() - t; })()")
    print(f"100 columns and 10 classes: {took:.1f} ms")
    assert page.wrong == []


def test_models_without_a_what_if_have_a_report(tmp_path: Path) -> None:
    one = NaiveBayes(classical=True).fit({"a": [1.0, 2.0]}, ["x", "x"])
    assert "Training data" in report.make(one).html()
    penguins = datasets.penguins()
    record = report.make(NaiveBayes().fit(penguins, target="species")).as_dict()
    assert json.loads(json.dumps(record))["n_parameters"] > 0


def test_one_slider_moves_threshold_table_and_cost(browser: Any, tmp_path: Path) -> None:
    table = datasets.penguins()
    table["species"] = np.where(np.asarray(table["species"]) == "Gentoo", "Gentoo", "other").tolist()
    few = {name: table[name] for name in ("bill_length_mm", "sex", "species")}
    model = NaiveBayes(classical=True).fit(few, target="species")
    page = Page(browser, written(tmp_path, model, few))
    found = report.make(model, few).evaluation
    cells = page.locator("#decide-table td")
    numbers = [float(text.replace(",", "")) for text in cells.all_inner_texts()[1:]]
    matrix = found.confusion  # at one half the decisions are the predictions, of "other", the second class
    assert sum(numbers) == matrix.sum()
    assert numbers == pytest.approx([matrix[1, 1], matrix[1, 0], matrix[0, 1], matrix[0, 0]], abs=2)
    page.get_by_label("cost of a missed row").fill("20")
    before = page.locator("#decide-table b").inner_text()
    page.get_by_role("button", name="cheapest threshold").click()
    assert page.locator("#decide-table b").inner_text() != before
    assert float(page.get_by_label("if its probability is at least", exact=True).input_value()) < 50
    assert page.wrong == []


def test_two_rows_are_compared(browser: Any, penguins: tuple[Path, NaiveBayes]) -> None:
    page = Page(browser, f"{penguins[0].as_uri()}#island=Biscoe&bill_length_mm=46")
    page.get_by_role("button", name="keep to compare").click()
    page.get_by_label("island", exact=True).select_option("Dream")
    changed = page.locator("#differences tr").all_inner_texts()
    assert len(changed) == 1
    assert changed[0].startswith("island: Biscoe → Dream")
    page.get_by_role("button", name="stop comparing").click()
    assert page.locator("#kept").is_hidden()
    assert page.wrong == []


def test_the_answer_stays_in_view_on_a_phone(browser: Any, penguins: tuple[Path, NaiveBayes]) -> None:
    from playwright.sync_api import expect

    page = Page(browser, penguins[0].as_uri(), viewport=PHONE)
    page.get_by_label("year", exact=True).scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#controls-box').lastElementChild.scrollIntoView({behavior: 'instant'})")
    expect(page.locator("#verdict")).to_be_in_viewport()


def test_typical_rows_are_rows_and_what_is_not_used_is_found(browser: Any, tmp_path: Path) -> None:
    table = datasets.penguins() | {"noise": np.random.default_rng(0).normal(size=344).tolist(), "same": ["x"] * 344}
    few = {name: table[name] for name in ("island", "bill_length_mm", "noise", "same", "species")}
    page = Page(browser, written(tmp_path, NaiveBayes().fit(few, target="species"), few))
    page.get_by_label("typical row of class").select_option("Gentoo")
    assert "island=Biscoe" in page.url  # Gentoos live nowhere else
    assert float(page.get_by_label("bill_length_mm", exact=True).input_value()) in few["bill_length_mm"]
    assert page.get_by_label("same", exact=True).is_disabled()
    assert page.wrong == []
