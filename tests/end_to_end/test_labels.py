"""Labels as the command line, the service and Python take them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.cli import main
from tallybayes.core.merging import new_classes
from tallybayes.errors import LabelWarning, UnlearnError

Screen = pytest.CaptureFixture[str]


def csv(path: Path, labels: list[object]) -> str:
    path.write_text("x,y\n" + "".join(f"{i % 5}.5,{label}\n" for i, label in enumerate(labels)))
    return str(path)


@pytest.mark.parametrize(
    ("labels", "prior"),
    [([0, 1], "1=0.2,0=0.8"), ([1, 2], "1.0=0.2, 2=0.8"), (["a", "b=c"], "a=0.2,b=c=0.8"), (["1", "x"], "1=0.2,x=0.8")],
)
def test_a_prior_names_labels_of_any_type(tmp_path: Path, labels: list[object], prior: str, capsys: Screen) -> None:
    data, model = csv(tmp_path / "d.csv", labels * 20), str(tmp_path / "m")
    assert main(["train", data, "--target", "y", "--prior", prior, "-q", "-o", model]) == 0
    assert tallybayes.load(model).model_.settings.prior == dict(
        zip(labels if labels != [0, 1] else [1, 0], [0.2, 0.8], strict=True)
    )
    assert main(["train", data, "--target", "y", "--prior", "7=0.5,1=0.5", "-q"]) == 1
    assert "there is no class '7'; the model has" in capsys.readouterr().err


def test_an_update_tells_of_new_classes_and_can_refuse_them(tmp_path: Path, capsys: Screen) -> None:
    data, model = csv(tmp_path / "d.csv", ["yes", "no"] * 20), str(tmp_path / "m")
    main(["train", data, "--target", "y", "--classical", "-q", "-o", model])
    more, same = csv(tmp_path / "more.csv", ["Yes", "no", "maybe"]), csv(tmp_path / "same.csv", ["yes", "no"])
    before = Path(model).read_bytes()
    capsys.readouterr()
    assert main(["update", model, more, "--strict"]) == 1
    assert "the label 'Yes' is new to the model; did you mean 'yes'? nothing was learned (--strict)" in (
        capsys.readouterr().err
    )
    assert Path(model).read_bytes() == before
    assert main(["update", model, same, "--strict"]) == 0
    assert "note:" not in capsys.readouterr().err
    assert main(["update", model, more]) == 0
    told = capsys.readouterr().err
    assert "note: the label 'Yes' is new to the model; did you mean 'yes'? it is learned as a class of its own" in told
    assert "note: the label 'maybe' is new to the model; it is learned as a class of its own" in told


def test_python_warns_of_twins_only() -> None:
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0]}, ["yes", "no"])
    with pytest.warns(LabelWarning, match="the label 'Yes ' is new to the model; did you mean 'yes'"):
        model.partial_fit({"x": [1.0]}, ["Yes "])
    model.partial_fit({"x": [1.0]}, ["maybe"])
    with pytest.warns(LabelWarning, match="did you mean 'no'"):
        model + NaiveBayes(classical=True).fit({"x": [1.0, 2.0]}, ["yes", "no."])
    assert new_classes((), ("a",)) == []


def test_a_target_of_one_class_is_noted(tmp_path: Path, capsys: Screen) -> None:
    data = csv(tmp_path / "d.csv", ["yes"] * 30)
    assert main(["train", data, "--target", "y", "--no-evaluation"]) == 0
    assert "every row has the class 'yes'" in capsys.readouterr().out


def test_an_unknown_class_was_never_learned(tmp_path: Path, capsys: Screen) -> None:
    table = {"x": [1.5, 2.5] * 10}
    for model in (NaiveBayes(classical=True), NaiveBayes(), tallybayes.GaussianNB(), tallybayes.TextNB()):
        x = ["a b", "c d"] * 10 if isinstance(model, tallybayes.TextNB) else table
        x = [[v] for v in table["x"]] if isinstance(model, tallybayes.GaussianNB) else x
        model.fit(x, ["yes", "no"] * 10)
        with pytest.raises(UnlearnError, match="cannot be taken back"):
            model.unlearn(x, ["yes", "other"] * 10)
    NaiveBayes(classical=True).fit({**table, "y": ["yes", "no"] * 10}, target="y").save(tmp_path / "m")
    assert main(["unlearn", str(tmp_path / "m"), csv(tmp_path / "d.csv", ["other"])]) == 1
    assert "cannot be taken back" in capsys.readouterr().err
