"""Model files: exact round trips, hostile files refused, whole files whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import Model, NaiveBayes, Settings, Tally, families, storage
from tallybayes.core.metrics import score
from tallybayes.core.schema import Column, NumberedColumns, Schema
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import Block
from tallybayes.data import datasets
from tallybayes.errors import ModelFileError, SettingError
from tests.refined import refined, table

rng = np.random.default_rng(0)
COUNTED = rng.poisson(1.5, size=(60, 4))
LABELS = np.array(["north", "south", "west"])[rng.integers(3, size=60)]


def mixed(**params: Any) -> NaiveBayes:
    return NaiveBayes(kind={"year": "category"}, **params).fit(datasets.penguins(), target="species")


def test_labels_and_levels_keep_their_types(tmp_path: Path) -> None:
    levels: tuple[Any, ...] = (True, 2, 3.5, "2", "é\ud800", None)
    schema = Schema((Column("odd", "category", levels, "as given"),), (False, 1.5, "yes", 10**20))
    counts = Counts(np.arange(24.0).reshape(4, 6), np.arange(24.0).reshape(4, 6).sum(axis=1)[:, None], np.array([6]))
    tally = Tally(schema, np.ones(4), {"categorical": Block([0], counts)})
    storage.write(tally, tmp_path / "t")
    again = storage.read(tmp_path / "t").schema
    assert [type(level) for level in again.columns[0].levels or ()] == [bool, int, float, str, str, type(None)]
    assert (again.columns[0].levels, again.classes) == (levels, schema.classes)
    assert again.columns[0].reason == "as given"


def test_a_model_and_a_tally_are_the_same_file(tmp_path: Path) -> None:
    family = families.Gaussian()
    tally = tallybayes.tally(COUNTED * 1.0, LABELS, family)
    storage.write(Model(Settings({"gaussian": family}), tally), tmp_path / "model")
    storage.write(tally, tmp_path / "tally")
    one, other = storage.read(tmp_path / "model"), storage.read(tmp_path / "tally")
    assert one.tally == other.tally
    assert isinstance(one.schema.columns, NumberedColumns)
    np.testing.assert_array_equal(
        tallybayes.load(tmp_path / "model").predict(COUNTED * 1.0),
        tallybayes.GaussianNB().fit(COUNTED, LABELS).predict(COUNTED),
    )


def test_a_large_vocabulary_is_a_small_header(tmp_path: Path) -> None:
    storage.write(tallybayes.tally(np.ones((2, 100_000)), [0, 1], families.Multinomial()), tmp_path / "t")
    data = (tmp_path / "t").read_bytes()
    assert int.from_bytes(data[:8], "little") < 2100


def test_the_header_can_be_read_by_people(tmp_path: Path) -> None:
    mixed(classical=True).save(tmp_path / "t")
    header = content(json.loads(split(tmp_path / "t")[0]))
    assert header["summary"].startswith(
        "Naive Bayes model of 344 rows, 7 columns (categorical, gaussian); classes Adelie: 152"
    )
    assert header["version"] == storage.VERSION


def test_what_cannot_be_written_is_said_before_anything_is(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = mixed()
    model.save(path)
    before = path.read_bytes()
    model.prior = object()
    with pytest.raises(SettingError, match=r"a object cannot be written to a model file \(saved.params.prior\)"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


# ------------------------------------------------------------------------------------------------ hostile files


def split(path: Path) -> tuple[bytes, bytes]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return data[8 : 8 + length], data[8 + length :]


def joined(header: Any, rest: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    path = tmp_path_factory.mktemp("good") / "model"
    birds = {name: values[:1] for name, values in datasets.penguins().items()}
    mixed(calibration="temperature").unlearn(birds).save(path)
    header, rest = split(path)
    tallybayes.load(path)
    return json.loads(header), rest


def refused(data: bytes, tmp_path: Path, match: str = "") -> None:
    path = tmp_path / "hostile"
    path.write_bytes(data)
    for loader in (storage.read, tallybayes.load):
        with pytest.raises(ModelFileError, match=match or "cannot be read as a model|cannot be made"):
            loader(path)


def content(header: dict[str, Any]) -> Any:
    return json.loads(header["__metadata__"]["tallybayes"])


def with_content(header: dict[str, Any], content: Any) -> dict[str, Any]:
    return {**header, "__metadata__": {"tallybayes": json.dumps(content)}}


def changed(good: tuple[dict[str, Any], bytes], change: Any, part: str = "model") -> bytes:
    """The good file with its model changed."""
    record = content(good[0])
    change(record[part])
    return joined(with_content(good[0], record), good[1])


NO_FILES: dict[str, bytes] = {
    "empty": b"",
    "short": b"abc",
    "text": b"sepal_length,species\n5.1,setosa\n" * 10,
    "zeros": bytes(1000),
    "pickle": b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94." * 4,
    "header beyond the end": (10**15).to_bytes(8, "little") + b"{}",
    "header too long": (2**63).to_bytes(8, "little") + b"{}",
    "no json": joined(b"{nope", b""),
    "no utf-8": joined(b"\xff\xfe{}", b""),
    "nested": joined(b'{"__metadata__":' + b"[" * 200_000 + b"]" * 200_000 + b"}", b""),
    "another safetensors": joined({"__metadata__": {"format": "pt"}}, b""),
    "twice": joined(b'{"__metadata__":{"tallybayes":"{}"},"__metadata__":{"tallybayes":"{}"}}', b""),
    "no version": joined({"__metadata__": {"tallybayes": "{}"}}, b""),
    "a list": joined([], b""),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_no_model_file(name: str, tmp_path: Path) -> None:
    refused(NO_FILES[name], tmp_path)


def test_a_version_to_come(good: Any, tmp_path: Path) -> None:
    def of(version: Any) -> bytes:
        return joined(with_content(good[0], {**content(good[0]), "version": version}), good[1])

    refused(of(3), tmp_path, "version 3, and this tallybayes knows versions up to 2; update")
    for version in (0, -1, "one", 1.0, True, None, [1]):
        refused(of(version), tmp_path)


def test_a_file_that_is_cut_off_anywhere(good: Any, tmp_path: Path) -> None:
    whole = joined(good[0], good[1])
    for length in [*range(64), *range(64, len(whole), 97), len(whole) - 1]:
        refused(whole[:length], tmp_path)
    refused(whole + b"x", tmp_path)


def test_a_byte_that_is_wrong_never_does_more_than_fail(good: Any, tmp_path: Path) -> None:
    """A flipped bit in a count may go unseen; anything else is a ModelFileError, never another exception."""
    whole, dice, path = bytearray(joined(good[0], good[1])), random.Random(0), tmp_path / "flipped"
    for _ in range(400):
        at, mask = dice.randrange(len(whole)), 1 << dice.randrange(8)
        whole[at] ^= mask
        path.write_bytes(whole)
        with contextlib.suppress(ModelFileError):
            tallybayes.load(path)
        whole[at] ^= mask


def set_field(*keys: Any) -> Any:
    """A change of one field: the keys that lead to it, then its new value."""
    *path, last, value = keys

    def change(record: Any) -> None:
        for key in path:
            record = record[key]
        record[last] = value

    return change


def curves(log_odds: list[Any], probability: list[Any], number: int = 3) -> dict[str, Any]:
    curve = {"is": "Curve", "log_odds": log_odds, "probability": probability}
    return {"is": "Isotonic", "curves": [curve] * number, "margin": 0.01}


COLUMNS = ("tally", "schema", "columns")
HOSTILE: dict[str, Any] = {
    "unknown record": set_field("settings", "is", "Popen"),
    "nameless record": set_field("settings", {"families": {}}),
    "strange field": set_field("settings", "evil", 1),
    "alpha of text": set_field("settings", "families", "of", 0, 1, "alpha", "much"),
    "unseen unknown": set_field("settings", "families", "of", 0, 1, "unseen", "explode"),
    "prior of nothing": set_field("settings", "prior", "nothing"),
    "prior of other classes": set_field("settings", "prior", {"is": "map", "of": [["a", 1.0]]}),
    "no families": set_field("settings", "families", {"is": "map", "of": []}),
    "a family that is a column": set_field(
        "settings", "families", "of", 0, 1, {"is": "Column", "name": "a", "kind": "count"}
    ),
    "temperature of zero": set_field("settings", "calibration", "temperature", 0.0),
    "temperature of NaN": set_field("settings", "calibration", "temperature", {"is": "float", "value": "nan"}),
    "a column twice": set_field(*COLUMNS, 0, "name", "sex"),
    "an unknown kind": set_field(*COLUMNS, 0, "kind", "ordinal"),
    "a level twice": set_field(*COLUMNS, 0, "levels", ["a", "a", "b"]),
    "more levels than counted": set_field(*COLUMNS, 0, "levels", ["a", "b", "c", "d"]),
    "a level that is a list": set_field(*COLUMNS, 0, "levels", [["a"], "b", "c"]),
    "endless levels": set_field(*COLUMNS, 0, "levels", {"is": "range", "of": [0, 10**18, 1]}),
    "endless columns": set_field(*COLUMNS, {"is": "NumberedColumns", "n_columns": 10**18, "kind": "count"}),
    "a class twice": set_field("tally", "schema", "classes", ["Adelie", "Adelie", "Gentoo"]),
    "a class too many": set_field("tally", "schema", "classes", ["a", "b", "c", "d"]),
    "a block of endless columns": set_field(
        "tally", "blocks", "of", 0, 1, "columns", {"is": "range", "of": [0, 10**18, 1]}
    ),
    "a block of strange columns": set_field("tally", "blocks", "of", 0, 1, "columns", {"is": "list", "of": [0, 5, 99]}),
    "a block of negative columns": set_field(
        "tally", "blocks", "of", 0, 1, "columns", {"is": "list", "of": [-1, 5, 6]}
    ),
    "a block of text": set_field("tally", "blocks", "of", 0, 1, "columns", ["sex"]),
    "a column in two blocks": set_field("tally", "blocks", "of", 0, 1, "columns", [0, 1, 6]),
    "the wrong summary": set_field("tally", "blocks", "of", 0, 1, "summary", "is", "Scatter"),
    "an array that is not there": set_field("tally", "class_weight", "name", "nothing"),
    "an array meant twice": set_field("tally", "class_weight", "name", "model.tally.blocks.gaussian.summary.mean"),
    "an array that is a number": set_field("tally", "class_weight", 3.0),
    "columns without number": set_field(*COLUMNS, {"is": "NumberedColumns", "n_columns": 10**30, "kind": "numeric"}),
    "fewer columns than none": set_field(*COLUMNS, {"is": "NumberedColumns", "n_columns": -1, "kind": "numeric"}),
    "levels beyond counting": set_field(*COLUMNS, 0, "levels", {"is": "range", "of": [0, 10**30, 1]}),
    "a block of columns of columns": set_field(
        "tally", "blocks", "of", 0, 1, "columns", {"is": "NumberedColumns", "n_columns": 3, "kind": "numeric"}
    ),
    "a block of a temperature": set_field(
        "tally", "blocks", "of", 0, 1, "columns", {"is": "Temperature", "temperature": 1.0}
    ),
    "levels of a number": set_field(*COLUMNS, 2, "levels", [1.0, 2.0]),
    "a weight that is no number": set_field("settings", "weights", "prior", {"is": "float", "value": "nan"}),
    "a column's weight without end": set_field(
        "settings", "weights", "columns", {"is": "map", "of": [["sex", {"is": "float", "value": "inf"}]]}
    ),
    "a prior_alpha without end": set_field("settings", "prior_alpha", 1e308),
    "curves of unequal length": set_field("settings", "calibration", curves([0.0, 1.0], [0.5])),
    "curves that fall": set_field("settings", "calibration", curves([1.0, 0.0], [0.5, 0.6])),
    "curves of no number": set_field("settings", "calibration", curves([0.0], [{"is": "float", "value": "nan"}])),
    "curves of other classes": set_field("settings", "calibration", curves([0.0], [0.5], 2)),
    "a model that is a tally": lambda record: [record.clear(), record.update({"is": "float", "value": "inf"})],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_that_makes_no_sense(name: str, good: Any, tmp_path: Path) -> None:
    refused(changed(good, HOSTILE[name]), tmp_path)


SAVED: dict[str, Any] = {
    "unknown estimator": set_field("estimator", "Popen"),
    "unknown parameter": set_field("params", "of", 0, 0, "shell"),
    "a bad parameter": set_field("params", "of", [["alpha", "much"]]),
    "a method replaced": set_field("fitted", "of", 0, 0, "predict"),
    "a dunder": set_field("fitted", "of", 0, 0, "__class__"),
    "another estimator": set_field("estimator", "GaussianNB"),
    "no mapping": set_field("params", [1, 2]),
}


@pytest.mark.parametrize("name", SAVED)
def test_an_estimator_that_makes_no_sense(name: str, good: Any, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(changed(good, SAVED[name], "saved"))
    with pytest.raises(ModelFileError):
        tallybayes.load(path)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
def test_counts_that_cannot_be(value: float, good: Any, tmp_path: Path) -> None:
    for name, tensor in good[0].items():
        if name.startswith("model.tally.") and not (value == -1.0 and name.endswith("mean")) and "n_levels" not in name:
            first = tensor["data_offsets"][0]
            rest = good[1][:first] + np.float64(value).tobytes() + good[1][first + 8 :]
            refused(joined(good[0], rest), tmp_path, "cannot have been counted")


def test_shapes_that_are_not_there(good: Any, tmp_path: Path) -> None:
    name = "model.tally.class_weight"
    for shape in ([10**9, 10], [2**40], [3, 1], [1, 3], [-3], [2**63, 2**63], []):
        refused(joined({**good[0], name: {**good[0][name], "shape": shape}}, good[1]), tmp_path)
    refused(joined({**good[0], name: {**good[0][name], "dtype": "I64"}}, good[1]), tmp_path)
    refused(joined({**good[0], name: {**good[0][name], "dtype": "F8_E5M2"}}, good[1]), tmp_path)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tallybayes.load(tmp_path / "missing.tally")
    with pytest.raises(IsADirectoryError):
        mixed().save(tmp_path)


# ------------------------------------------------------------------------------------------------ whole or not at all

KILLER = """
import os, random, signal, sys, time
import numpy as np
import tallybayes
from tallybayes import families, storage

path, dice = sys.argv[1], random.Random(0)
models = [tallybayes.tally(np.full((2, 10_000), i), [0, 1], families.Multinomial()) for i in (1, 2)]
storage.write(models[0], path)
found = []
for _ in range(100):
    child = os.fork()
    if child == 0:
        while True:
            for model in reversed(models):
                storage.write(model, path)
    time.sleep(dice.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found.append(int(storage.read(path).tally.blocks["multinomial"].summary.count[0, 0]))
print(len(found), *sorted(set(found)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    """100 times a process that keeps saving is killed at a random moment, and the file is read."""
    run = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path / "model.tally")], capture_output=True, text=True, check=False
    )
    assert run.stdout.split() == ["100", "1", "2"], run.stderr


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tally"
    mixed().save(path)
    before = path.read_bytes()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mixed(alpha=3.0).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.tally"]


def test_a_link_and_permissions_stay_as_they_are(tmp_path: Path) -> None:
    path, link = tmp_path / "model.tally", tmp_path / "link"
    mixed().save(path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_mask()
    path.chmod(0o640)
    link.symlink_to(path)
    mixed(alpha=2.0).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert tallybayes.load(path).alpha == 2.0


def current_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_cannot_be_written_is_named_as_the_user_named_it(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"nowhere/a\.tally cannot be written: there is no directory .*nowhere$"
    ):
        mixed().save(tmp_path / "nowhere" / "a.tally")


@pytest.mark.parametrize("text", [True, False])
def test_offsets_are_saved(tmp_path: Path, text: bool) -> None:
    estimator = refined(text)
    estimator.save(tmp_path / "m")
    again = tallybayes.load(tmp_path / "m")
    assert again.model_ == estimator.model_
    np.testing.assert_array_equal(
        again.predict_proba(table(50, 4, text)[0]), estimator.predict_proba(table(50, 4, text)[0])
    )


def test_offsets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    model = refined().model_
    offset = model.settings.offsets["mood"]
    for name, wrong in {
        "mood": replace(offset, table=offset.table[1:]),
        "height": offset,
        "nothing": offset,
        "town together with mood": replace(offset, cells=replace(offset.cells, name="town together with mood")),
    }.items():
        offsets = {**model.settings.offsets, name: wrong}
        storage.write(replace(model, settings=replace(model.settings, offsets=offsets)), tmp_path / "m")
        with pytest.raises(ModelFileError, match="offset"):
            storage.read(tmp_path / "m")


def test_figures_and_options_come_back(tmp_path: Path) -> None:
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0, 3.0]}, ["no", "yes", "yes"]).model_
    for n_classes in (2, 150):
        posterior = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=400)
        figures = score(np.log(posterior), np.arange(400) % n_classes, range(n_classes), method="5 folds")
        figures = figures.of(n_folds=5, n_learned=3, source="loans.csv")
        options = {"drop": ("id",), "prior": {"no": 0.5, "yes": 0.5}, "tokens": tallybayes.Tokens(min_count=2)}
        whole = replace(model, provenance=replace(model.provenance, evaluation=figures, options=options))
        storage.write(whole, tmp_path / "m.tally")
        found = storage.read(tmp_path / "m.tally")
        assert found == whole
        assert found.provenance.evaluation.date == figures.date
        assert found.provenance.evaluation.source == "loans.csv"
        assert (tmp_path / "m.tally").stat().st_size < 200_000


@pytest.mark.parametrize(
    "change",
    [{"n_rows": -1}, {"date": "<b>"}, {"accuracy": {"is": "Interval", "value": 2.0, "low": 0.0, "high": 1.0}}],
    ids=str,
)
def test_damaged_figures_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0, 3.0]}, ["no", "yes", "yes"]).model_
    figures = score(np.log(np.full((2, 2), 0.5)), np.array([0, 1]), ["no", "yes"])
    storage.write(replace(model, provenance=replace(model.provenance, evaluation=figures)), tmp_path / "m.tally")
    header, rest = split(tmp_path / "m.tally")
    whole = content(json.loads(header))
    whole["model"]["provenance"]["evaluation"].update(change)
    refused(joined(with_content(json.loads(header), whole), rest), tmp_path)


@pytest.mark.parametrize("options", [{"shell": "rm"}, {"numeric": "magic"}, {"pairs": -1}], ids=str)
def test_options_that_there_are_not_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0, 3.0]}, ["no", "yes", "yes"]).model_
    storage.write(replace(model, provenance=replace(model.provenance, options=options)), tmp_path / "m.tally")
    with pytest.raises(ModelFileError, match="its options cannot be used"):
        storage.read(tmp_path / "m.tally")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(["a", "b"], "longer", "<U6"), ([1, 2], 300, "<i8"), ([1, 2], "a", "|O"), ([True, False], "x", "|O")],
)
def test_a_model_that_learned_labels_of_another_type_is_read_again(
    tmp_path: Path, before: list[Any], after: Any, kind: str
) -> None:
    labels = np.array(before * 10)
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0] * 10}, labels.astype(np.int8) if after == 300 else labels)
    more = replace(model.tally_.schema, classes=(before[0], after))
    storage.write(model.model_.with_rows(replace(model.tally_, schema=more), 20), tmp_path / "m")
    again = storage.read(tmp_path / "m")
    assert (again.provenance.labels, set(again.schema.classes)) == (kind, {*before, after})
    assert set(tallybayes.load(tmp_path / "m").classes_.tolist()) == {*before, after}


@pytest.mark.parametrize("kind", ["|b1", "<M8[s]", "|V8", "object", "|S5"])
def test_a_file_that_claims_another_type_of_labels_is_refused(
    good: tuple[dict[str, Any], bytes], tmp_path: Path, kind: str
) -> None:
    refused(changed(good, lambda model: model["provenance"].update(labels=kind)), tmp_path, "labels")


def test_half_a_character_in_a_name_is_an_error_that_says_so(tmp_path):
    from tallybayes import NaiveBayes
    from tallybayes.errors import SettingError

    rows = {"\ud800": ["a", "b"] * 20, "\ud800x": [1.0, 2.0, 3.0, 4.0] * 10}
    model = NaiveBayes(kind={"\ud800": "text"}).fit(rows, ["n", "y"] * 20)
    with pytest.raises(SettingError, match="half a character"):
        model.save(tmp_path / "m.tally")
    assert not list(tmp_path.iterdir())
    model.report(tmp_path / "r.html")
