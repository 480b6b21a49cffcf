"""The JavaScript scorer gives the probabilities of the Python model, for models of every kind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from tests.export.cases import CASES

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
    # GaussianDiscriminant and bags have no holes in this form; the others keep theirs.
    cases = [{"record": json.loads(case.estimator.to_json()), "rows": case.dicts} for case in made.values()]
    assert NODE is not None
    run = subprocess.run(
        [NODE, "-e", RUN, str(SCORER)], input=json.dumps(cases), capture_output=True, encoding="utf-8", timeout=120
    )
    assert run.returncode == 0, run.stderr
    for (name, case), answered in zip(made.items(), json.loads(run.stdout), strict=True):
        np.testing.assert_allclose(np.array(answered), case.expected, rtol=0, atol=1e-9, err_msg=name)


def test_another_version_is_refused() -> None:
    assert NODE is not None
    code = 'require(process.argv[1]).scorer({format: "tallybayes scorer", version: 2})'
    run = subprocess.run([NODE, "-e", code, str(SCORER)], capture_output=True, encoding="utf-8")
    assert "version 1" in run.stderr
