"""Start-up is a feature: what each use of the package loads, asked of a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["numpy", "scipy", "sklearn", "pandas", "polars", "duckdb", "rich", "tallybayes._native"]
SLOW = ["sklearn", "scipy.sparse", "scipy.special", "scipy.optimize", "scipy.stats", "pandas", "polars", "duckdb"]


def loaded(code: str, modules: list[str]) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after running the code."""
    code += f"\nimport sys\nprint(*[name for name in {modules!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def loaded_besides_installation(code: str, modules: list[str]) -> list[str]:
    """The same, less what the interpreter loads by itself (an editable installation may)."""
    return sorted({*loaded(code, modules)} - {*loaded("", modules)})


def test_the_package_alone_loads_next_to_nothing() -> None:
    assert loaded_besides_installation("import tallybayes; dir(tallybayes); tallybayes.__version__", HEAVY) == []


COUNT = """
import numpy as np
import tallybayes
from tallybayes import Model, Settings, Tally, families
from tallybayes.core.batch import Codes, Csr
"""

USES = {
    "the names": COUNT,
    "every family": """
for family in (families.Gaussian(), families.Bernoulli(), families.Multinomial(), families.Complement(),
               families.Poisson(), families.Categorical()):
    x, y = np.array([[0, 1], [1, 0], [2, 1]]), ["no", "yes", "yes"]
    tally = tallybayes.tally(x, y, family)
    assert (tally + tally - tally).class_weight.tolist() == [1, 2]
    model = Model(Settings({family.name: family}), tally)
    model.parameters, model.log_prior, model.n_parameters
    model.sample(3, np.random.default_rng(0))
""",
    "predictions": """
from tallybayes.data.arrays import one_block
from tallybayes.core.batch import Labels
family = families.Gaussian()
x = np.arange(6.0).reshape(3, 2)
tally = tallybayes.tally(x, [0, 1, 1], family)
model = Model(Settings({"gaussian": family}), tally)
batch = one_block("gaussian", model.schema, x, Labels.hard(np.array([0, 1, 1], dtype=np.int32)))
model.predict(batch), model.posterior(batch), model.log_posterior(batch), model.contributions(batch)
model.log_evidence(batch), model.log_likelihood(batch), model.leave_one_out(batch)
model.learn(batch).unlearn(batch)
""",
}


def test_pictures_and_reports_load_neither_scikit_learn_nor_matplotlib() -> None:
    code = """
import numpy as np
import tallybayes
from tallybayes import Model, Settings, families, plots, report
from tallybayes.inspection import charts as pictures
tally = tallybayes.tally(np.arange(8.0).reshape(4, 2), ["no", "no", "yes", "yes"], families.Gaussian())
model = Model(Settings({"gaussian": families.Gaussian()}), tally)
assert report.make(model).html()
"""
    assert loaded_besides_installation(code, ["sklearn", "pandas", "polars", "matplotlib", "fastapi", "duckdb"]) == []


@pytest.mark.parametrize("use", USES)
def test_counting_and_scoring_load_neither_scikit_learn_nor_scipy(use: str) -> None:
    assert loaded_besides_installation(COUNT + USES[use], SLOW) == []


COMMANDS = [
    "train days.csv --target play -o m.tally",
    "train days.csv --target play --classical --calibration temperature -o m.tally",
    "update m.tally days.csv",
    "unlearn m.tally days.csv",
    "merge m.tally m.tally -o both.tally",
    "predict m.tally days.csv -o out.csv",
    "evaluate m.tally days.csv",
    "show m.tally",
]


def test_no_command_that_learns_or_predicts_loads_scikit_learn(tmp_path: Path) -> None:
    rows = [f"{('weak', 'strong')[i % 2]},{i % 7}.5,{('yes', 'no', 'no')[i % 3]}" for i in range(120)]
    (tmp_path / "days.csv").write_text("\n".join(["wind,degrees,play", *rows, ""]))
    run = "import os; os.chdir({!r}); from tallybayes.cli import main; assert main({!r}) == 0"
    for command in COMMANDS:
        assert "sklearn" not in loaded(run.format(str(tmp_path), command.split()), ["sklearn"]), command
    import tallybayes

    model = tallybayes.load(tmp_path / "m.tally")
    assert model.classical
    assert model.calibration == "temperature"


def test_an_estimator_loads_scikit_learn_when_it_is_first_used() -> None:
    """The other side: shows that the tests above would see it."""
    assert "sklearn" in loaded("import tallybayes; tallybayes.GaussianNB", SLOW)


ALONE = """
import importlib, os, pkgutil, sys, traceback
import tallybayes

HEAVY = "numpy scipy.sparse scipy.optimize scipy.special sklearn.naive_bayes sklearn.linear_model pandas polars pyarrow"
for heavy in (*HEAVY.split(), "duckdb", "narwhals", "rich.table", "matplotlib.figure", "fastapi", "pyspark.ml", "onnx"):
    try:
        importlib.import_module(heavy)  # once, before the processes part: what is asked is the order of our own modules
    except ImportError:
        pass
failed = []
for module in [m.name for m in pkgutil.walk_packages(tallybayes.__path__, "tallybayes.") if "__main__" not in m.name]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            os._exit(0 if not str(error.name).startswith("tallybayes") else 1)  # an extra that is not installed
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(module)
assert len(sys.modules) > 100
print(*failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
def test_every_module_can_be_the_first_to_be_imported() -> None:
    run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [], run.stderr


@pytest.mark.parametrize("code", ["from tallybayes.core.model import Model", "from tallybayes.core.tally import Tally"])
def test_the_core_stands_alone(code: str) -> None:
    others = [f"tallybayes.{name}" for name in ("families", "data", "learning", "inspection", "storage", "estimators")]
    assert loaded(code, others) == []


def test_public_names_are_the_ones_promised() -> None:
    import tallybayes

    for name in tallybayes.__all__:
        assert getattr(tallybayes, name) is not None
        assert name in dir(tallybayes)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchNB'"):
        _ = tallybayes.NoSuchNB
