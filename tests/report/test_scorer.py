"""The JavaScript scorer gives the probabilities of the Python model, for models of every kind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unicodedata
import warnings
from collections import Counter
from dataclasses import asdict
from importlib.resources import files

import numpy as np
import pytest

from tallybayes import NaiveBayes, report
from tallybayes.core.tokens import Tokens
from tests.export.cases import CASES
from tests.refined import with_offsets

NODE = shutil.which("node")
SCORER = files("tallybayes") / "report" / "scorer.js"
RUN = """
const {scorer} = require(process.argv[1]);
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = cases.map(({record, rows}) => rows.map((row) => scorer(record).score(row).probabilities));
console.log(JSON.stringify(answers));
"""

if os.environ.get("CI") != "true":
    pytestmark = pytest.mark.skipif(NODE is None, reason="node runs the page's JavaScript; it is not installed")


def test_every_kind_of_model() -> None:
    made = {name: make() for name, make in CASES.items()}
    # GaussianDiscriminant and bags have no missing values in this form; the others keep theirs.
    cases = [{"record": json.loads(case.estimator.to_json()), "rows": case.dicts} for case in made.values()]
    answers = node(RUN, cases)
    for (name, case), answered in zip(made.items(), answers, strict=True):
        np.testing.assert_allclose(np.array(answered), case.expected, rtol=0, atol=1e-9, err_msg=name)


def node(code: str, data: object) -> object:
    assert NODE is not None
    command = [NODE, "-e", code, str(SCORER)]
    run = subprocess.run(command, input=json.dumps(data), capture_output=True, encoding="utf-8", timeout=600)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


CUT = """
const {counted} = require(process.argv[1]);
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({text, by}) => [...counted(text, by)])));
"""
TEXTS = (
    "Don't panic! It's rock-'n'-roll, l'été; ‘quoted’ isn’t a_b x'_y 3.14 e-mail",
    "STRASSE Straße ẞ ﬁn ΣΊΣΥΦΟΣ Σίσυφος ŉ İstanbul ısı ſo µm ᾳ Ⅷ Ｆｕｌｌ",
    "日本語のテキスト 中文 한국어 ひらがな カタカナ 𠀀 豈",
    "emoji 👍🏽 👩\u200d💻 ❤️ €5 $7 £ ₿ ©2020 soft\u00adhyphen zero\u200dwidth",
    "हिन्दी में लिखा العربية שלום ไทย cafe\u0301 e\u0301\u0302 \u0301alone Ꭰꭰ ᏸ",
    "a" * 300 + " short \ufffd broken\nsecond line\n\nTHIRD line",
    "",
)
WAYS = (
    Tokens(),
    Tokens(ngrams=(1, 3), stop_words=("it's", "a")),
    Tokens(ngrams=(2, 2), lower=False),
    Tokens(characters=(2, 5)),
    Tokens(words="sklearn"),
    Tokens(words="unicode"),
    Tokens(words="lines"),
)


def test_texts_are_cut_alike() -> None:
    """What is a word in the page is one in Python, in every script."""
    rng = np.random.default_rng(0)
    ranges = [
        (0x20, 0x7F),
        (0xA0, 0x250),
        (0x370, 0x590),
        (0x900, 0xA00),
        (0x2000, 0x2C00),
        (0x3040, 0x3100),
        (0x1F300, 0x1F700),
    ]
    drawn = ["".join(chr(rng.integers(*ranges[rng.integers(len(ranges))])) for _ in range(80)) for _ in range(150)]
    # A browser may know characters that are newer than this Python.
    drawn = ["".join(c for c in text if unicodedata.category(c) != "Cn") for text in drawn]
    cases = [(text, by) for text in (*TEXTS, *drawn) for by in WAYS]
    found = node(CUT, [{"text": text, "by": asdict(by)} for text, by in cases])
    for (text, by), counts in zip(cases, found, strict=True):
        assert dict(map(tuple, counts)) == dict(Counter(by.tokenise(text))), (text, by)


@pytest.mark.parametrize("options", [{}, {"classical": True}, {"weights": "words"}])
def test_models_of_text(options: dict) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)] + ["naïve", "don't", "日本"]
    texts = [" ".join(rng.choice(words[:28] if i % 2 else words[15:], rng.integers(1, 30))) for i in range(300)]
    table = {"body": [None if rng.random() < 0.05 else t for t in texts], "n": rng.normal(size=300).tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes(kind={"body": "text"}, **options).fit(table, ["a", "b"] * 150)
    model.model_ = with_offsets(model.model_)
    rows = {
        "body": ["Word1 word2, don't!", "", None, "unknown only", "日本 naïve word3 word3 word3"],
        "n": [0.1, None, 1.0, 2.0, -1.0],
    }
    dicts = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    in_page = report.make(model).scorer
    answers = node(RUN, [{"record": record, "rows": dicts} for record in (json.loads(model.to_json()), in_page)])
    for answered in answers:
        np.testing.assert_allclose(answered, model.predict_proba(rows), rtol=0, atol=1e-9)


def test_another_version_is_refused() -> None:
    assert NODE is not None
    code = 'require(process.argv[1]).scorer({format: "tallybayes scorer", version: 2})'
    run = subprocess.run([NODE, "-e", code, str(SCORER)], capture_output=True, encoding="utf-8")
    assert "version 1" in run.stderr
