"""Damage model files in as many ways as asked for: ``python -m tests.storage.fuzz 50000``.

Every file must either be refused with ModelFileError or load and then predict, explain, show, export, learn and save,
in a few seconds and with little memory. The fields that are changed are those that real files have, of every estimator,
family and golden file, so a new field is tried as soon as a model has it.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import tallybayes
from tallybayes import export, report, storage
from tallybayes.cli import show
from tallybayes.core.batch import Labels
from tallybayes.core.calibration import Affine
from tallybayes.core.model import Model
from tallybayes.core.schema import Column
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import ModelFileError, TallybayesError
from tallybayes.estimators._matrices import MatrixNB
from tallybayes.estimators.text import TextNB
from tallybayes.inspection.explain import class_profiles, explain, steps
from tallybayes.mail import filter

GOLDEN = Path(__file__).parent.parent / "golden"
MOST_SECONDS = 10.0
MOST_MEMORY = 300_000  # KiB that one file may add
MOST_ADDRESSES = 8 << 30  # bytes
SPECIAL = [{"is": "float", "value": value} for value in ("nan", "inf", "-inf")]
NUMBERED = [{"is": "NumberedColumns", "n_columns": n, "kind": "count"} for n in (-1, 10**8, 10**30)]
RANGES = [{"is": "range", "of": of} for of in ([0, 10**30, 1], [0, 10**9, 1], [0, 3, 0], [5, 0, -1])]
CURVES = [{"is": "Curve", "log_odds": [0.0], "probability": [0.5, 0.6]}]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 255, 2**31, 2**63, 10**30, -(10**30)),
    *(0.0, -1.0, 0.5, 1e-320, 1e308, -1e308, *SPECIAL),
    *("", "a", "nan", "\0", "\ud800", "x" * 1000, "empirical", "text", "numeric", "category", "pair", "block"),
    *([], {}, [0], [[]], [None, None], ["a", "a"], [1.0, 2.0], [2.0, 1.0], *RANGES, *NUMBERED),
    *({"is": "list", "of": []}, {"is": "map", "of": []}, {"is": "set", "of": [1]}, {"is": "map", "of": [["a", 1.0]]}),
    *({"is": "map", "of": [[[], 1]]}, {"is": "values", "dtype": "object", "of": [[]]}),
    *({"is": "Temperature", "temperature": 1e-300}, {"is": "Isotonic", "curves": [], "margin": 0.1}),
    {"is": "Isotonic", "curves": CURVES, "margin": 0.1},
]
NUMBERS = [0.0, -1.0, 0.5, 3.0, 1e-320, 1e18, 1e308, -1e308, np.nan, np.inf, -np.inf]


# ---------------------------------------------------------------------------------------------- files to damage


@cache
def originals() -> dict[str, bytes]:
    """Model files of every estimator and family, a mail filter, and those of earlier versions."""
    from tests.export.cases import CASES
    from tests.laws.test_saving import CODES, FITTED, is_classifier

    found = {path.name: path.read_bytes() for path in sorted(GOLDEN.glob("*.tally"))}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "model.tally")
        for name, (estimator, rows) in FITTED.items():
            labels = (np.array(["x", "yy", "zzz"])[CODES],) if is_classifier(estimator) else ()
            estimator.fit(rows, *labels).save(path)
            found[name] = path.read_bytes()
        for name, make in CASES.items():
            make().estimator.save(path)
            found[f"export, {name}"] = path.read_bytes()
        found |= _special(path)
        learned = filter.learn(filter.learn(filter.empty(), ["free\nmoney"], "spam"), ["meeting\nat\nnoon"], "ham")
        storage.write(learned, path)
        found["mail"] = path.read_bytes()
    return found


def _special(path: Path) -> dict[str, bytes]:
    """Files of what only some models have: monotone evidence, estimated labels, a receipt, other calibrations."""
    from tests.laws.test_saving import CODES, TABLE

    rows = {name: TABLE[name] for name in ("size", "town", "flag")}
    two = np.where(CODES > 0, "yes", "no")
    some = np.where(np.arange(len(two)) % 5 == 0, None, two.astype(object))
    models = {
        "monotone": tallybayes.NaiveBayes(monotone={"size": 1}, max_bins=5).fit(rows, two),
        "estimated labels": tallybayes.NaiveBayes(unlabelled="em", em=tallybayes.EM(max_iter=5)).fit(rows, some),
        "a receipt": tallybayes.NaiveBayes(classical=True).fit(rows, two),
    }
    models["a receipt"].unlearn({name: cells[:2] for name, cells in rows.items()}, two[:2])
    found = {}
    for name, model in models.items():
        model.save(path)
        found[name] = path.read_bytes()
    model = models["a receipt"].model_
    storage.write(replace(model, settings=replace(model.settings, calibration=Affine(1.5, (-0.2, 0.2)))), path)
    header, content, rest = split((GOLDEN / "v1-mixed.tally").read_bytes())
    families = content["model"]["settings"]["families"]
    plan = {"is": "Plan", "families": families, "weights": None, "notes": ["a note"], "lost": {"is": "map", "of": []}}
    content["saved"]["fitted"]["of"].append(["_plan", plan])
    return found | {"affine": path.read_bytes(), "version 1 with a plan": joined(header, content, rest)}


def split(data: bytes) -> tuple[dict[str, Any], Any, bytes]:
    """The header of a container, the content that tallybayes keeps in it, and the arrays."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["tallybayes"]), data[8 + length :]


def joined(header: dict[str, Any], content: Any, rest: bytes) -> bytes:
    """The way back."""
    header = {**header, "__metadata__": {"tallybayes": json.dumps(content)}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in nested lists and objects: its container and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from spots(value[key])


# ---------------------------------------------------------------------------------------------- ways to damage them


def with_bytes(data: bytes, dice: random.Random) -> bytes:
    """Random bytes changed, cut out, doubled or cut off."""
    raw = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        at, some = dice.randrange(len(raw)), dice.randrange(1, 20)
        kind = dice.randrange(6)
        if kind < 3:
            raw[at] ^= 1 << dice.randrange(8)
        elif kind == 3:
            raw[at] = dice.choice(b'\0\xff09-[]{}",:e.')
        elif kind == 4:
            raw[at : at + some] = dice.choice((b"", bytes(raw[at : at + some] * 2), bytes(some)))
        else:
            del raw[max(at, 1) :]
    return bytes(raw)


def with_field(data: bytes, dice: random.Random) -> bytes:
    """One field, or a few, of the JSON header changed."""
    header, content, rest = split(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        places = list(spots(content))
        by_name: dict[Any, list[Any]] = {}
        for place in places:  # a name first: a field that occurs once is tried as often as one of every column
            by_name.setdefault(place[1] if isinstance(place[0], dict) else type(place[0][place[1]]), []).append(place)
        holder, key = dice.choice(by_name[dice.choice(list(by_name))])
        _change(holder, key, places, dice)
    return joined(header, content, rest)


def _change(holder: Any, key: Any, places: list[Any], dice: random.Random) -> None:
    old, kind = holder[key], dice.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, at = dice.choice(places)  # what stands elsewhere in the file
        holder[key] = json.loads(json.dumps(other[at]))
    elif kind == 2 and isinstance(old, list):
        old[:] = dice.choice((old[::-1], old + old[-1:], old[:-1], old * 2))
    elif kind == 3 and isinstance(old, (int, float)):
        holder[key] = dice.choice((old + 1, -old, old * 1000, old / 3, str(old)))
    elif kind == 4 and isinstance(holder, dict) and "is" in holder:
        holder["is"] = dice.choice(list(storage.RECORDS))
    elif kind == 5 and isinstance(holder, dict):
        holder[dice.choice(("evil", "is", "of", "name", "levels"))] = dice.choice(VALUES)
    else:
        holder[key] = json.loads(json.dumps(dice.choice(VALUES)))


def with_array(data: bytes, dice: random.Random) -> bytes:
    """A number of an array changed, or its declared type, shape or place."""
    header, content, rest = split(data)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return with_field(data, dice)
    about = header[dice.choice(names)]
    first, last = about["data_offsets"]
    kind, raw = dice.randrange(6), bytearray(rest)
    if kind == 0:
        about["shape"] = dice.choice((about["shape"][::-1], [*about["shape"], 1], [10**12], [0], [-1], [2**63, 2**63]))
    elif kind == 1:
        about["dtype"] = dice.choice([*storage.DTYPES, "BF16", "X"])
    elif kind == 2:
        about["data_offsets"] = dice.choice(([0, last], [first, 10**15], [last, first], [first, last + 8], [-1, last]))
    elif last - first >= 8:
        types = {"F64": "f8", "I64": "i8"}
        dtype = np.dtype(types.get(about["dtype"], "u1"))
        at = first + dice.randrange((last - first) // dtype.itemsize) * dtype.itemsize
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw[at : at + dtype.itemsize] = np.float64(dice.choice(NUMBERS)).astype(dtype).tobytes()
    return joined(header, content, bytes(raw))


WAYS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes": with_bytes,
    "field": with_field,
    "array": with_array,
}


# ---------------------------------------------------------------------------------------------- what is done with them


def cells(column: Column) -> list[Any]:
    """Values for a column, as its kind has them."""
    if column.kind in ("category", "boolean") and column.levels:
        return [column.levels[0], column.levels[-1], None]
    if column.kind == "text":
        return ["tea money 00", "the sun at noon", None]
    if column.kind == "tags":
        return ["sun;tea", "car", None]
    if column.kind == "date":
        return ["3/2/2012 4:05", "17/8/2014 23:05", None]
    return [1.0, 2.5, 0.5] if column.kind == "numeric" else [1, 3, 2]


def rows_of(model: Model) -> tuple[TableBatch, dict[str, Any]]:
    """Some rows that the model can read, and the first as values."""
    table = read_table({c.name: cells(c) for c in model.schema.columns if not c.is_derived} or {"": [None] * 3})
    return TableBatch(model.schema, table, model.tally.places), table.row(0)


def use(model: Model, folder: Path, seed: int) -> None:
    """Predict, explain, show, export, learn and save; TallybayesError is a clear refusal, but not of a prediction."""
    batch, values = rows_of(model)
    posterior = model.posterior(batch)
    assert np.isfinite(posterior).all(), "a posterior is no number"
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-6)
    model.predict(batch)
    learned = TableBatch(model.schema, batch.table, model.tally.places, Labels.hard(np.zeros(3, dtype=np.int32)))
    works: list[Callable[[], Any]] = [
        lambda: str(explain(model, batch.rows(0, 1), values)),
        lambda: steps(model, batch.rows(0, 1), values),
        lambda: show._record(model, 0, model.provenance.target, None),
        lambda: (model.schema.described(), repr(model), storage.summary(model)),
        lambda: class_profiles(model),
        lambda: export.to_json(model),
        lambda: compile(export.to_python(model), "exported", "exec"),
        lambda: export.to_sql(model, "rows"),
        lambda: model.learn(learned).posterior(batch),
        lambda: model + model.blank(),
        lambda: storage.write(model, folder / "again.tally"),
    ]
    if seed % 10 == 0:
        works += [lambda: report.make(model).html(), lambda: export.to_onnx(model)]
    for work in works:
        with suppress(TallybayesError):
            work()


def outcome(data: bytes, path: Path, seed: int) -> str:
    """What became of a damaged file: "refused", or "used"; anything else is an exception."""
    path.write_bytes(data)
    try:
        model = storage.read(path)
    except ModelFileError:
        return "refused"
    use(model, path.parent, seed)
    try:
        estimator = tallybayes.load(path)
    except ModelFileError:
        return "refused as an estimator"
    repr(estimator)
    reader = getattr(estimator, "classifier_", estimator)
    rows: Any = {c.name: cells(c) for c in model.schema.columns if not c.is_derived}
    if isinstance(reader, MatrixNB):
        rows = np.ones((3, reader.n_features_in_))
    elif isinstance(reader, TextNB):
        rows = ["tea money 00", "the sun at noon", ""]
    with suppress(TallybayesError):
        estimator.predict_proba(rows)
    return "used"


def timed(data: bytes, path: Path, seed: int) -> str:
    """The same within the limits of time and memory."""

    def too_slow(*_: Any) -> None:
        raise TimeoutError(f"longer than {MOST_SECONDS:g} s of work")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = outcome(data, path, seed)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert more < MOST_MEMORY, f"{more // 1024} MiB more"
    return found


def damaged(seed: int) -> tuple[str, str, bytes]:
    """The file of a seed: its original, how it was damaged, and its bytes."""
    dice = random.Random(seed)
    name, data = dice.choice(list(originals().items()))
    way = dice.choice(("bytes", "field", "field", "field", "array"))
    return name, way, WAYS[way](data, dice)


def fuzz(seeds: range, folder: Path, tell: Callable[[str], None] = lambda text: None) -> tuple[Counter[str], list[str]]:
    """Try the files of these seeds; the outcomes, and the failures in words."""
    found, failures = Counter[str](), list[str]()
    for number, seed in enumerate(seeds, start=1):
        name, way, data = damaged(seed)
        try:
            found[timed(data, folder / "damaged.tally", seed)] += 1
        except Exception as error:
            found["failed"] += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            failures.append(f"seed {seed} ({name}, {way}): {type(error).__name__} at {where}: {str(error)[:200]}")
            tell(failures[-1])
        if number % 1000 == 0:
            tell(f"{number:,} files: {dict(found)}")
    return found, failures


def main(cases: str = "50000", first: str = "0") -> int:
    start = perf_counter()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, resource.RLIM_INFINITY))  # a failure, not the machine's end
    with tempfile.TemporaryDirectory() as folder:
        found, failures = fuzz(
            range(int(first), int(first) + int(cases)), Path(folder), lambda text: print(text, flush=True)
        )
    print(f"{int(cases):,} files in {perf_counter() - start:.0f} s: {dict(found)}; {len(failures)} failures")
    return min(len(failures), 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
