"""A scorer as an ONNX graph. It calculates in double precision; −inf is a very small number, as in SQL.

A column of text is a tensor of strings, every other column one of numbers with NaN for a missing value. Where no column
holds text, there is a single input, a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tallybayes import __version__
from tallybayes.core.batch import Array
from tallybayes.core.calibration import Isotonic, Temperature
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.core.terms import (
    Bag,
    ByBin,
    ByLevel,
    ByPair,
    Ellipsoid,
    Expression,
    Formula,
    Line,
    Normal,
    Part,
    Spike,
    Term,
    Text,
    Together,
)
from tallybayes.errors import NotAvailableError, SettingError, needs
from tallybayes.export.portable import NAMES, Scorer, check_plain

FORBIDDEN = -1e300  # stands for −inf: zero times it is zero
OPSETS = {"": 18, "ai.onnx.ml": 3}


def to_onnx(model: Model, missing_text: str = "", dtype: Literal["float64", "float32"] = "float64") -> Any:
    """The graph: inputs by column or one matrix, outputs ``label`` and ``probabilities``."""
    needs("onnx", "onnx")
    if dtype not in ("float64", "float32"):
        raise SettingError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
    scorer = Scorer.of(model)
    check_plain(scorer)
    columns = [column for column in model.schema.columns if column.is_evidence]
    texts = [c.name for c in columns if _are_texts(c.levels)]  # even those that are no evidence: they are no numbers
    return Graph(scorer, missing_text, dtype, texts).made([column.name for column in columns])


class Graph:
    """The graph while it is put together; a string is the name of a tensor in it."""

    def __init__(self, scorer: Scorer, missing_text: str, dtype: str, texts: Sequence[str] = ()) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.helper, self.from_array = helper, numpy_helper.from_array
        self.types = {"text": TensorProto.STRING, "number": TensorProto.DOUBLE}
        self.given = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
        self.scorer, self.missing_text = scorer, missing_text
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.numbers: dict[str, str] = {}  # column → its tensor (n, 1)
        self.text = {*texts, *(name for name, levels in _levels(scorer) if _are_texts(levels))}

    # ------------------------------------------------------------------------------------------ small pieces

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operation; returns the name of its result."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """A tensor that is always the same."""
        array = np.asarray(values)
        if dtype is np.float64:
            array = np.maximum(np.asarray(array, dtype=np.float64), FORBIDDEN)
        name = f"c{len(self.constants)}"
        self.constants.append(self.from_array(array.astype(dtype), name))
        return name

    def cast(self, x: str, kind: Literal["number", "whole"]) -> str:
        """The same as numbers, or as whole numbers."""
        from onnx import TensorProto

        return self.op("Cast", x, to=TensorProto.DOUBLE if kind == "number" else TensorProto.INT64)

    def total(self, x: str, axis: int = 1, keep: bool = True) -> str:
        """The sum along an axis."""
        return self.op("ReduceSum", x, self.constant([axis], np.int64), keepdims=int(keep))

    def where(self, condition: str, yes: str, no: str) -> str:
        """One or the other."""
        return self.op("Where", condition, yes, no)

    def summed(self, parts: Sequence[str]) -> str:
        """All of them added up."""
        out = parts[0]
        for part in parts[1:]:
            out = self.op("Add", out, part)
        return out

    # ------------------------------------------------------------------------------------------ the whole

    def made(self, names: Sequence[str]) -> Any:
        """The model with these columns as inputs."""
        make = self.helper.make_tensor_value_info
        if self.text:
            names = [name for name in names if name in self.scorer.columns] or names[:1]  # for the number of rows
            kinds = {n: self.types["text"] if n in self.text else self.given for n in names}
            inputs = [make(name, kinds[name], [None, 1]) for name in names]
            self.numbers = {name: self.cast(name, "number") for name in names if name not in self.text}
            like = names[0]
        else:
            inputs, like = [make("X", self.given, [None, len(names)])], "X"
            x = self.cast("X", "number")
            at = {name: self.constant([place], np.int64) for place, name in enumerate(names)}
            self.numbers = {name: self.op("Gather", x, at[name], axis=1) for name in self.scorer.columns}
        rows = self.op("Slice", self.op("Shape", like), *(self.constant([i], np.int64) for i in (0, 1)))
        size = self.op("Concat", rows, self.constant([len(self.scorer.prior)], np.int64), axis=0)
        start = self.op("Expand", self.constant(self.scorer.prior[None]), size)
        scores = self.summed([start, *map(self.added, self.scorer.terms)])
        probabilities = self.calibrated(self.log_softmax(self.allowed(scores)))
        label, kind = self.label(probabilities)
        for tensor, name in ((probabilities, "probabilities"), (label, "label")):
            self.nodes.append(self.helper.make_node("Identity", [tensor], [name]))
        shape = [None, len(self.scorer.classes)]
        outputs = [make("label", kind, [None]), make("probabilities", self.types["number"], shape)]
        graph = self.helper.make_graph(self.nodes, "tallybayes", inputs, outputs, self.constants)
        opsets = [self.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = self.helper.make_model(graph, opset_imports=opsets, producer_name="tallybayes")
        made.producer_version, made.ir_version = __version__, 9
        return made

    def allowed(self, scores: str) -> str:
        """The scores, or the fallback where every class forbids the row."""
        top = self.op("ReduceMax", scores, self.constant([1], np.int64))
        forbidden = self.op("Less", top, self.constant([[0.1 * FORBIDDEN]]))
        return self.where(forbidden, self.constant(self.scorer.fallback[None]), self.op("Sub", scores, top))

    def log_softmax(self, scores: str) -> str:
        """Log probabilities."""
        top = self.op("ReduceMax", scores, self.constant([1], np.int64))
        shifted = self.op("Sub", scores, top)
        return self.op("Sub", shifted, self.op("Log", self.total(self.op("Exp", shifted))))

    def calibrated(self, logs: str) -> str:
        """Probabilities."""
        calibration = self.scorer.calibration
        if calibration is None:
            return self.op("Exp", logs)
        if isinstance(calibration, Temperature):
            return self.op("Exp", self.log_softmax(self.op("Div", logs, self.constant(calibration.temperature))))
        return self.isotonic(calibration, logs)

    def label(self, probabilities: str) -> tuple[str, int]:
        """The labels of the likeliest classes, and their type."""
        from onnx import TensorProto

        classes: Sequence[Level] = self.scorer.classes
        best = self.op("ArgMax", probabilities, axis=1, keepdims=0)
        for kind, dtype, of in ((bool, np.bool_, TensorProto.BOOL), (int, np.int64, TensorProto.INT64)):
            if all(type(label) is kind for label in classes):
                return self.op("Gather", self.constant(classes, dtype), best), of
        texts = np.array([str(label) for label in classes], dtype=object)
        return self.op("Gather", self.constant(texts, object), best), TensorProto.STRING

    # ------------------------------------------------------------------------------------------ terms

    def added(self, term: Term) -> str:
        """What a term adds to the scores (n, K)."""
        return str(getattr(self, f"add_{NAMES[type(term)]}")(term))

    def add_levels(self, term: ByLevel) -> str:
        table = np.concatenate([term.scores, term.unseen[None], term.missing[None]])
        return self.looked_up(table, self.level(term.column, term.levels, len(term.levels) + 1))

    def add_bins(self, term: ByBin) -> str:
        table = np.concatenate([term.scores, np.zeros((1, term.scores.shape[1]))])
        return self.looked_up(table, self.bin(term.column, term.edges, term.above))

    def add_normal(self, term: Normal) -> str:
        return self.density(term)

    def add_spike(self, term: Spike) -> str:
        x = self.numbers[term.column]
        at_zero = self.op("Equal", x, self.constant([[0.0]]))
        spike = self.where(at_zero, self.constant(term.zero[None]), self.constant(term.other[None]))
        rest = self.where(at_zero, self.constant([[0.0]]), self.density(term.rest))
        return self.unless_missing(x, self.op("Add", spike, rest))

    def add_line(self, term: Line) -> str:
        x = self.numbers[term.column]
        if term.least is not None:  # what is too small is missing
            x = self.where(self.op("Less", x, self.constant([[term.least]])), self.constant([[np.nan]]), x)
        sloped = self.products(x, term.slope[None])
        return self.unless_missing(x, self.op("Add", sloped, self.constant(term.offset[None])))

    def add_formula(self, term: Formula) -> str:
        x = self.numbers[term.column]
        if term.above is None:
            return self.unless_missing(x, self.expression(term.expression, x))
        some = self.op("Greater", x, self.constant([[term.above]]))  # a missing value is not greater
        inside = self.where(some, x, self.constant([[term.above + 1.0]]))
        return self.where(some, self.expression(term.expression, inside), self.constant([[0.0]]))

    def expression(self, expression: Expression, x: str) -> str:
        """An expression (n, K) in x."""
        if not isinstance(expression, tuple):
            return x if isinstance(expression, str) else self.constant(np.asarray(expression)[None])
        operation, first, *rest = expression
        value = self.expression(first, x)
        if operation == "log":
            return self.op("Log", value)
        for each in rest:
            value = self.op("Add" if operation == "add" else "Mul", value, self.expression(each, x))
        return value

    def add_bag(self, term: Bag) -> str:
        x = self.op("Concat", *(self.numbers[name] for name in term.columns), axis=1)
        if term.length is not None:
            total, length = self.total(x), self.constant([[term.length]])
            some = self.op("Greater", total, self.constant([[0.0]]))
            x = self.op("Mul", x, self.op("Div", length, self.where(some, total, length)))
        return self.products(x, term.slopes)

    def add_text(self, term: Text) -> str:
        raise NotAvailableError(f"the text in {term.column!r} is tokenised, which ONNX has no operator for")

    def add_ellipsoid(self, term: Ellipsoid) -> str:
        x = self.op("Concat", *(self.numbers[name] for name in term.columns), axis=1)
        parts = [self.distance(x, m, a / term.scale[:, None]) for m, a in zip(term.mean, term.axes, strict=True)]
        half = self.op("Mul", self.op("Concat", *parts, axis=1), self.constant(-0.5))
        return self.op("Add", half, self.constant(term.log_norm[None]))

    def add_together(self, term: Together) -> str:
        x = self.op("Concat", *(self.numbers[name] for name in term.columns), axis=1)
        z = self.op("Div", self.op("Sub", x, self.constant(term.centre[None])), self.constant(term.scale[None]))
        z = self.op("Clip", z, self.constant(-term.farthest), self.constant(term.farthest))
        one, n, d = self.constant([[1.0]]), term.degrees, len(term.columns)
        parts = []
        for mean, axes, precision in zip(term.mean, term.axes, term.precision, strict=True):
            u = self.op("Sub", z, self.constant(mean[None]))
            square = self.op("Mul", self.op("Mul", u, u), self.constant(precision[None] / n))
            alone = self.total(self.op("Log", self.op("Add", one, square)))
            far = self.op("Mul", self.distance(z, mean, axes), self.constant([[1.0 / n]]))
            both = self.op("Log", self.op("Add", one, far))
            weights = (self.constant([[term.power * w]]) for w in (0.5 * (n + 1.0), -0.5 * (n + d)))
            parts.append(self.summed([self.op("Mul", w, v) for w, v in zip(weights, (alone, both), strict=True)]))
        norm = self.constant(term.power * term.log_norm[None])
        return self.unless_missing(self.total(x), self.op("Add", self.op("Concat", *parts, axis=1), norm))

    def looked_up(self, table: Array, place: str) -> str:
        """Rows of a table at places (n, 1)."""
        return self.op("Gather", self.constant(table), self.op("Squeeze", place, self.constant([1], np.int64)), axis=0)

    def unless_missing(self, x: str, score: str) -> str:
        """The score, or nothing where the number is missing."""
        return self.where(self.op("IsNaN", x), self.constant([[0.0]]), score)

    def level(self, column: str, levels: tuple[Level, ...], missing: int) -> str:
        """The place (n, 1) of a level; one behind the last for what is none, and that of a missing value."""
        if column in self.text:
            return self.text_level(column, levels, missing)
        x, values = self.numbers[column], np.array([float(level) for level in levels])  # type: ignore[arg-type]
        same = self.cast(self.op("Equal", x, self.constant(values[None])), "number")
        back = self.constant(np.arange(len(levels))[None] - float(len(levels)))  # from one behind the last
        place = self.op("Add", self.total(self.op("Mul", same, back)), self.constant([[float(len(levels))]]))
        return self.where(self.op("IsNaN", x), self.constant([[missing]], np.int64), self.cast(place, "whole"))

    def text_level(self, column: str, levels: tuple[Level, ...], missing: int) -> str:
        if self.missing_text in levels:
            raise SettingError(
                f"column {column!r} has the level {self.missing_text!r}, which stands for a missing value in ONNX; "
                "choose another text with missing_text="
            )
        keys = [str(level).encode() for level in (*levels, self.missing_text)]
        values = [*range(len(levels)), missing]
        return self.op(
            "LabelEncoder",
            column,
            domain="ai.onnx.ml",
            keys_strings=keys,
            values_int64s=values,
            default_int64=len(levels),
        )

    def bin(self, column: str, edges: Array, above: bool = False) -> str:
        """The number (n, 1) of the bin; one behind the last for a missing value."""
        x = self.numbers[column]
        passed = self.op("Greater" if above else "GreaterOrEqual", x, self.constant(edges[None]))
        place = self.total(self.cast(passed, "whole"))
        return self.where(self.op("IsNaN", x), self.constant([[len(edges) + 1]], np.int64), place)

    def add_pair(self, term: ByPair) -> str:
        n_left, n_right, n_classes = term.scores.shape
        a, b = (self.place(part, n) for part, n in zip(term.parts, (n_left, n_right), strict=True))
        # Each side has one place more, for what has none; those combinations add nothing.
        table = np.zeros((n_left + 1, n_right + 1, n_classes))
        table[:-1, :-1] = term.scores
        place = self.op("Add", self.op("Mul", a, self.constant([[n_right + 1]], np.int64)), b)
        return self.looked_up(table.reshape(-1, n_classes), place)

    def place(self, part: Part, none: int) -> str:
        """The place (n, 1) of a value on one side of a pair, or ``none``."""
        if part.edges is not None:
            return self.bin(part.column, part.edges)
        levels = part.levels or ()
        missing = none if part.missing is None else part.missing
        place = self.level(part.column, levels, len(levels) + 1)
        table = self.constant([*range(len(levels)), none, missing], np.int64)
        return self.op("Gather", table, place, axis=0)

    def density(self, term: Normal) -> str:
        x = self.numbers[term.column]
        if term.log:
            positive = self.op("Greater", x, self.constant([[0.0]]))
            value = self.op("Log", self.where(positive, x, self.constant([[1.0]])))
        else:
            value = x
        z = self.op("Sub", value, self.constant(term.mean[None]))
        square = self.op("Mul", self.op("Mul", z, z), self.constant(-0.5 * term.precision[None]))
        score = self.op("Add", square, self.constant(term.log_norm[None]))
        if term.log:
            return self.where(positive, score, self.constant([[0.0]]))
        return self.unless_missing(x, score)

    def products(self, x: str, slopes: Array) -> str:
        """x (n, V) times slopes (V, K); one of −inf counts where x is above zero."""
        finite = self.op("MatMul", x, self.constant(np.where(np.isneginf(slopes), 0.0, slopes)))
        if not np.isneginf(slopes).any():
            return finite
        some = self.cast(self.op("Greater", x, self.constant([[0.0]])), "number")
        return self.op("Add", finite, self.op("MatMul", some, self.constant(np.isneginf(slopes) * FORBIDDEN)))

    def distance(self, x: str, mean: Array, axes: Array) -> str:
        along = self.op("MatMul", self.op("Sub", x, self.constant(mean[None])), self.constant(axes))
        return self.total(self.op("Mul", along, along))

    # ------------------------------------------------------------------------------------------ curves

    def isotonic(self, calibration: Isotonic, logs: str) -> str:
        n_classes = len(self.scorer.classes)
        classes = [1] if len(calibration.curves) == 1 else range(n_classes)
        heights = []
        for curve, k in zip(calibration.curves, classes, strict=True):
            own = self.op("Gather", logs, self.constant([k], np.int64), axis=1)
            others = self.op("Gather", logs, self.constant([j for j in range(n_classes) if j != k], np.int64), axis=1)
            top = self.op("ReduceMax", others, self.constant([1], np.int64))
            against = self.op("Log", self.total(self.op("Exp", self.op("Sub", others, top))))
            odds = self.op("Sub", self.op("Sub", own, top), against)
            heights.append(self.curve(np.array(curve.log_odds), np.array(curve.probability), odds))
        margin = self.constant(calibration.margin), self.constant(1.0 - calibration.margin)
        held = self.op("Clip", self.op("Concat", *heights, axis=1), *margin)
        if len(heights) == 1:
            held = self.op("Concat", self.op("Sub", self.constant([[1.0]]), held), held, axis=1)
        return self.op("Div", held, self.total(held))

    def curve(self, at: Array, height: Array, x: str) -> str:
        """A line through knots, level outside them."""
        x = self.op("Clip", x, self.constant(at[0]), self.constant(at[-1]))
        passed = self.op("GreaterOrEqual", x, self.constant(at[None, 1:-1])) if len(at) > 2 else None
        slope = np.diff(height) / np.diff(at) if len(at) > 1 else np.zeros(1)
        if passed is None:
            return self._on_line(x, *(self.constant([[value]]) for value in (height[0], slope[0], at[0])))
        stretch = self.op("Squeeze", self.total(self.cast(passed, "whole")), self.constant([1], np.int64))
        knots = (self.constant(values[:, None]) for values in (height[:-1], slope, at[:-1]))
        return self._on_line(x, *(self.op("Gather", values, stretch, axis=0) for values in knots))

    def _on_line(self, x: str, height: str, slope: str, start: str) -> str:
        return self.op("Add", height, self.op("Mul", slope, self.op("Sub", x, start)))


def _are_texts(levels: Sequence[Level | None] | None) -> bool:
    """Whether the levels of a column are texts; a missing value may be a level, too."""
    known = [level for level in levels or () if level is not None]
    return bool(known) and all(isinstance(level, str) for level in known)


def _levels(scorer: Scorer) -> list[tuple[str, tuple[Level, ...]]]:
    """The columns that have levels, and these."""
    parts = [part for term in scorer.terms if isinstance(term, ByPair) for part in term.parts]
    found: list[ByLevel | Part] = [*(term for term in scorer.terms if isinstance(term, ByLevel)), *parts]
    return [(each.column, each.levels) for each in found if each.levels is not None]
