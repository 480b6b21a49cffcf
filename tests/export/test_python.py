"""The model as one Python function."""

import subprocess
import sys

import numpy as np
import pytest

from tallybayes import NaiveBayes, TextNB
from tallybayes.errors import SettingError
from tests.export.cases import CASES


def made(estimator, **options):
    space = {}
    exec(estimator.to_python(**options), space)
    return space


@pytest.mark.parametrize("name", CASES)
def test_the_function_answers_as_the_model(name):
    case = CASES[name]()
    score = made(case.estimator)["predict_proba"]
    answers = [score(row) for row in case.dicts]
    assert list(answers[0]) == case.estimator.classes_.tolist()
    found = np.array([list(answer.values()) for answer in answers])
    np.testing.assert_allclose(found, case.expected, rtol=0, atol=1e-12)


def test_it_needs_nothing_but_python(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(CASES["planned"]().estimator.to_python(), encoding="utf-8")
    code = "import sys, model; print(sum(model.predict_proba({}).values())); print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    total, numpy = run.stdout.split()
    assert float(total) == pytest.approx(1.0)
    assert numpy == "False"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "learn", "family": "multinomial"},
        {"family": "bernoulli", "words": "unicode"},
        {"words": "sklearn", "ngrams": (1, 1), "damped": False, "scaled": False},
        {"characters": (2, 4), "stop_words": ["win"]},
    ],
    ids=str,
)
def test_texts(options):
    rng = np.random.default_rng(0)
    words = [*(f"word{i}" for i in range(40)), "win", "caf\u00e9", "\u514d\u8d39\u5956", ":-)", "don't", "Stra\u00dfe"]
    texts = [" ".join(rng.choice(words[:30] if i % 2 else words[15:], 9)) for i in range(120)]
    model = TextNB(**options).fit(texts, ["a", "b"] * 60)
    source = model.to_python()
    assert source.isascii()
    score = made(model)["predict_proba"]
    asked = [*texts[:9], "Cafe\u0301 WIN\uff01\uff01 :-) \u514d\u8d39\u5956\u54c1", "", "unknown", None]
    found = np.array([list(score({"text": text}).values()) for text in asked])
    np.testing.assert_allclose(found, model.predict_proba(asked), rtol=0, atol=1e-9)


def test_names_and_levels_cannot_break_out_of_the_source():
    evil = "x'\n__import__('os')._exit(1) # \"\"\" \u2028"
    table = {evil: [evil, "b", evil, "b"]}
    model = NaiveBayes(classical=True).fit(table, [evil, "b", evil, "b"])
    source = model.to_python()
    assert source.isascii()
    assert made(model)["predict_proba"]({evil: evil})[evil] > 0.5


def test_the_function_is_called_as_it_should_be():
    model = CASES["classical"]().estimator
    assert "score" in made(model, name="score")
    with pytest.raises(SettingError, match="cannot be the name"):
        model.to_python(name="a b")


def test_a_missing_value_in_a_bag_is_an_error_that_names_it():
    score = made(CASES["MultinomialNB"]().estimator)["predict_proba"]
    with pytest.raises(ValueError, match="'x1' is missing"):
        score({"x0": 1, "x2": 1, "x3": 0})
