"""The examples run, without a warning, and print what they promise."""

import os
import runpy
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "01_first_table.py": "accuracy                 0.9942  0.9791 – 0.9984    0.4419",
    "02_unlearn.py": "  the same probabilities, to within 1e-12: True",
    "03_across_sites.py": "The same as a model of the pooled rows, to within 1e-12: True",
    "04_calibrate.py": "log loss                   0.6514   0.1695",
    "05_prior_shift.py": "estimated from the rows       9.2%, 17 steps",
    "06_stream_with_drift.py": "Levels, the new one included: audit invoice lunch outage",
    "07_spam_words.py": "  alpha auto  0.5667 (chosen: 1.36)",
    "12_files.py": "Without 2007: Tally(234 rows; Adelie: 102, Chinstrap: 42, Gentoo: 90; 7 columns)",
    "08_linear_view.py": "The same probabilities from a LogisticRegression: True",
    "09_missing_labels.py": "  and the others         0.982   weight 1.0",
    "10_clusters.py": "  1: 123 Gentoo",
    "11_discriminant.py": "Two sites add up to the whole: True",
    "14_texts.py": "  P(delivery) 0.59 → 1.00 → 0.59; 'hedge' is known: False",
    "13_weights.py": "weighted, pairs    0.8137    0.4107  0.0206",
    "15_mail.py": "0 learned: Tally(1 row; ham: 1, spam: 0; 1 column)",
    "16_ledger.py": "Forgotten: 1,800 rows in 60 batches; the rest is as if they had never been: True",
    "17_flights.py": "departs: hour      category",
    "gallery/plot_0_look_at_a_model.py": (
        "Right for 79 of 100 rows it has not seen; always guessing 'yes' is right for 78. "
        "Its probabilities tell more than its guesses: log loss 0.465 instead of 0.521."
    ),
    "gallery/plot_1_linear_and_quadratic.py": "the same as a logistic function: True",
    "gallery/plot_2_logistic_regression.py": (
        "correlation 0.5: Naive Bayes          error 0.41 after 20 rows, 0.39 after 1,280"
    ),
    "gallery/plot_3_parameters.py": "30 columns: 2,147,483,647 numbers without the assumption, 61 with it",
    "gallery/plot_4_smoothing.py": (
        "P(no) of an overcast day: 0.000 without smoothing, 0.357 when it drowns the columns"
    ),
    "gallery/plot_5_one_model.py": "Evaluation(leave-one-out, 344 rows: accuracy 0.9826, log loss 0.0641, ECE 0.0197)",
}


def test_every_example_is_run() -> None:
    assert sorted(PRINTED) == sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py"))


@pytest.mark.parametrize("name", PRINTED)
def test_example(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("gallery") and os.environ.get("CI") != "true":
        pytest.importorskip("matplotlib", reason="the gallery needs matplotlib: pip install 'tallybayes[plot]'")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / name)])
    with threadpool_limits(1):  # the other processors are at other tests
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    out, err = capsys.readouterr()
    assert not err
    assert PRINTED[name] in out.splitlines()


@pytest.mark.parametrize("name", PRINTED)
def test_example_is_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 60
