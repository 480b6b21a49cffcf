"""Model files: a tally and its settings in a safetensors container, without pickle.

The arrays are the container's tensors. Its header holds the version of the format, a few lines to be read by people,
and the schema and the settings as JSON. Loading checks everything before it is used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import __version__
from tallybayes.core import calibration
from tallybayes.core.conformal import Conformity, Quantiles, SetFigures
from tallybayes.core.evaluation import Bin, CalibrationReport, Evaluation, Interval
from tallybayes.core.lineage import Lineage
from tallybayes.core.model import Model
from tallybayes.core.offsets import Offset
from tallybayes.core.provenance import Provenance, Steps
from tallybayes.core.ranking import Ranking
from tallybayes.core.readings import DatePart, NumberText, Reading
from tallybayes.core.scatter import Scatter
from tallybayes.core.schema import Column, NumberedColumns, Schema, amount, plural
from tallybayes.core.settings import EvidenceWeights, Settings, WordWeights
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tally import Block, Tally
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.atomic import replacing
from tallybayes.data.labels import class_array
from tallybayes.errors import ModelFileError, SchemaError, SettingError
from tallybayes.families import FAMILIES, Gaussian
from tallybayes.families.zero_inflated import Spiked
from tallybayes.inspection.receipts import Receipt
from tallybayes.learning.options import EM, Options, check_values
from tallybayes.storage import legacy
from tallybayes.storage.lock import locked
from tallybayes.storage.records import Decoder, Encoder

VERSION = 2
FORMAT = "tallybayes"
LABELS = r"\|[bO]1?|[<>|][iu][1248]|[<>][f][248]|[<>]U\d{1,9}"  # the types that labels may have
MOST_HEADER = 100_000_000  # bytes; the container's own limit
DTYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    **{f"F{8 * size}": np.dtype(f"f{size}") for size in (2, 4, 8)},
    **{f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
}

# What a file may hold, by the name it has there. A new record is one line here.
RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(Model, Provenance, Lineage, Steps, Settings, EvidenceWeights, WordWeights, Offset, EM, legacy.Plan),
        *(Tally, Block, Counts, Moments, Spiked, Scatter),
        *(Schema, Column, NumberedColumns, Tokens, Vocabulary, Reading, NumberText, DatePart),
        *FAMILIES.values(),
        *(calibration.Temperature, calibration.Affine, calibration.Isotonic, calibration.Curve),
        *(Evaluation, Interval, Bin, Conformity, Quantiles, SetFigures, Ranking, CalibrationReport, Receipt),
    )
}


@dataclass(frozen=True)
class Saved:
    """What an estimator is besides its model."""

    estimator: str  # name of its class
    params: Mapping[str, Any]
    fitted: Mapping[str, Any]  # attributes that fitting gave it

    def grown(self, model: Model) -> Saved:
        """The estimator with the classes that the model has now."""
        fitted = {name: value for name, value in self.fitted.items() if name != "receipt_"}
        params = dict(self.params)
        if model.settings.calibration is None and params.get("calibration"):
            params["calibration"] = None
        return replace(self, params=params, fitted=fitted)


RECORDS["Saved"] = Saved


def write(model: Model | Tally, path: str | os.PathLike[str], saved: Saved | None = None) -> None:
    """Write a model to a file, whole or not at all, while nobody else changes it.

    Parameters
    ----------
    model : Model or Tally
        A tally alone is written with the default settings of its families, and without a block of numbers, whose
        units are settings.
    path : path
    saved : Saved, optional
        The estimator around the model.

    Examples
    --------
    >>> import tempfile
    >>> from tallybayes import families, tally
    >>> path = os.path.join(tempfile.mkdtemp(), "two.tally")
    >>> write(tally(np.array([[1.0], [3.0]]), ["no", "yes"], families.Gaussian()), path)
    >>> read(path)
    Model(gaussian; Tally(2 rows; no: 1, yes: 1; 1 column))
    """
    if isinstance(model, Tally):
        tally = model.without("block")
        model = Model(default_settings(tally), tally)
    data = to_bytes(model, saved)
    with locked(path), replacing(path) as temporary:
        temporary.write_bytes(data)


def to_bytes(model: Model, saved: Saved | None = None) -> bytes:
    """The content of a model file."""
    from safetensors.numpy import save

    if kind := model.provenance.labels:  # rows that were learned since may have longer labels, or labels of other types
        kind = class_array(model.schema.classes, kind).dtype.str
        model = replace(model, provenance=replace(model.provenance, labels=kind))
    encode = Encoder(RECORDS)
    content = {
        "version": VERSION,
        "written_by": f"tallybayes {__version__}",
        "summary": summary(model),
        "model": encode(model, "model"),
        "saved": None if saved is None else encode(saved, "saved"),
    }
    header = json.dumps(content, allow_nan=False)
    if len(header) > MOST_HEADER // 2:  # quotes take two bytes in there
        raise SettingError("the columns have too many levels for a model file; leave out columns of names and codes")
    try:
        return save(
            encode.arrays, metadata={FORMAT: header}
        )  # one key: the container does not keep the order of several
    except UnicodeEncodeError as error:
        raise SettingError("the name of a column holds half a character (a lone surrogate); rename it") from error


def default_settings(tally: Tally) -> Settings:
    """The default settings to read a tally with."""
    families = {name: FAMILIES[name.split(":")[0]]() for name in tally.blocks}
    if "gaussian" in families:
        families["gaussian"] = Gaussian(ignore_constants=True)
    return Settings(families)


def summary(model: Model) -> str:
    """A few words on what a model has learned."""
    tally = model.tally
    shown = zip(tally.schema.classes[:10], tally.class_weight, strict=False)
    classes = ", ".join(f"{label}: {amount(weight)}" for label, weight in shown)
    more = ", …" if len(tally.schema.classes) > 10 else ""
    families = ", ".join(model.settings.families)
    return (
        f"Naive Bayes model of {amount(tally.class_weight.sum())} rows, {plural(len(tally.schema.columns), 'column')} "
        f"({families}); classes {classes}{more}"
    )


def read(path: str | os.PathLike[str]) -> Model:
    """Read a model from a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Model

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, or is of a version to come.
    """
    return read_all(path)[0]


def read_all(path: str | os.PathLike[str]) -> tuple[Model, Saved | None]:
    """Read a model and, where an estimator wrote the file, what that was."""
    return from_bytes(Path(path).read_bytes(), path)


def from_bytes(data: bytes, path: str | os.PathLike[str]) -> tuple[Model, Saved | None]:
    """The model in the content of a file; ``path`` is for messages."""
    try:
        return _parsed(data)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be read as a model: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise ModelFileError(f"{path} cannot be read as a model: it is nested too deeply or too large") from error


def _parsed(data: bytes) -> tuple[Model, Saved | None]:
    header = _header(data)
    arrays = _arrays(data)
    decode = Decoder(RECORDS, arrays)
    model = decode(header.get("model"))
    if not isinstance(model, Model):
        raise ModelFileError(f"it holds a {type(model).__name__} where the model should be")
    try:
        model.check()
    except SchemaError as error:
        raise ModelFileError(str(error)) from error
    _check_labels(model)
    _check_options(model)
    saved = decode(header.get("saved"))
    if not isinstance(saved, Saved | None):
        raise ModelFileError(f"it holds a {type(saved).__name__} where the estimator should be")
    if left := sorted(set(arrays) - decode.used):
        raise ModelFileError(f"it holds an array that belongs to nothing, {left[0]!r}")
    if saved is not None and "classes_" in saved.fitted:
        model, saved = legacy.upgraded(model, saved)
        _check_labels(model)
    return model, saved


def _check_labels(model: Model) -> None:
    """Refuse a type of labels that is none, or not theirs."""
    kind = model.provenance.labels
    if not kind:
        return
    if not re.fullmatch(LABELS, kind):
        raise ModelFileError(f"its labels are of the type {kind!r}, which no labels have")
    if class_array(model.schema.classes, kind).dtype != np.dtype(kind):
        raise ModelFileError(f"its labels are not of the type {kind!r}")


def _check_options(model: Model) -> None:
    """Refuse options that there are not, or values that mean nothing: the model may be learned anew with them."""
    try:
        options = Options(**(model.provenance.options or {}))
        check_values(vars(options) if options.matrix is None else {})  # a matrix has a family, and no such parameters
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"its options cannot be used: {error}") from error


def _header(data: bytes) -> dict[str, Any]:
    """The header of a model file, checked for its version."""
    if len(data) < 8:
        raise ModelFileError("it is too short to be one")
    length = int.from_bytes(data[:8], "little")
    if length > min(MOST_HEADER, len(data) - 8):
        raise ModelFileError("it is truncated, or no model file at all")
    try:
        header = _json(data[8 : 8 + length].decode())
    except UnicodeDecodeError as error:
        raise ModelFileError("it is no model file, or damaged") from error
    words = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(words, dict) or not isinstance(words.get(FORMAT), str):
        raise ModelFileError("it is no model file of tallybayes")
    content = _json(words[FORMAT])
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError("the version of its format is missing")
    if version > VERSION:
        raise ModelFileError(
            f"its format has version {version}, and this tallybayes knows versions up to {VERSION}; update tallybayes"
        )
    return content


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ModelFileError("a key of its header occurs twice")
        return found

    def no_number(word: str) -> Any:
        raise ModelFileError(f"it holds {word}, which is no number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=no_number)
    except ValueError as error:
        raise ModelFileError("it is no model file, or damaged") from error


def _arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """The container's arrays; it checks itself that their sizes add up to that of the file."""
    from safetensors import SafetensorError, deserialize

    arrays: dict[str, NDArray[Any]] = {}
    try:
        for name, tensor in deserialize(data):  # type: ignore[no-untyped-call]
            if tensor["dtype"] not in DTYPES:
                raise ModelFileError(f"the array {name!r} is of the type {tensor['dtype']}, which no model has")
            dtype = np.dtype(DTYPES[tensor["dtype"]])
            values = np.frombuffer(tensor["data"], dtype=dtype.newbyteorder("<"))
            arrays[name] = values.reshape(tensor["shape"]).astype(dtype)
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(f"its arrays are damaged ({error})") from error
    return arrays
