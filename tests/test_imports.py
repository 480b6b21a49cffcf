"""Start-up is a feature: what each use of the package loads, asked of a fresh interpreter."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
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
    commands = [command.split() for command in COMMANDS]
    code = f"""
import os, sys
from tallybayes.cli import main
os.chdir({str(tmp_path)!r})
for command in {commands!r}:
    assert main([*command, "-q"] if command[0] in ("train", "update") else command) == 0
    assert "sklearn" not in sys.modules, command
"""
    loaded(code, [])
    import tallybayes

    model = tallybayes.load(tmp_path / "m.tally")
    assert model.classical
    assert model.calibration == "temperature"


def test_an_estimator_loads_scikit_learn_when_it_is_first_used() -> None:
    """The other side: shows that the tests above would see it."""
    assert "sklearn" in loaded("import tallybayes; tallybayes.GaussianNB", SLOW)


def imported(path: Path, module: str) -> Iterator[str]:
    """What a module of the package imports when it is loaded, or for its types, and the packages around that."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in nodes:
        if not isinstance(node, ast.FunctionDef):
            nodes.extend(ast.iter_child_nodes(node))
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            parents = (".".join(parts[:n]) for n in range(2, len(parts) + 1))
            # Its own package is being loaded already, and what that imports comes before it.
            yield from (each for each in parents if not f"{module}.".startswith(f"{each}."))


def test_no_modules_import_each_other() -> None:
    """So every module can be the first to be imported."""
    import tallybayes

    root = Path(tallybayes.__file__).parent
    names = {
        path: ".".join(("tallybayes", *path.relative_to(root).with_suffix("").parts)) for path in root.rglob("*.py")
    }
    modules = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known = {*modules.values()}
    assert len(known) > 100
    uses = {name: {*imported(path, name)} & known for path, name in modules.items()}
    assert list(TopologicalSorter(uses).static_order())


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
