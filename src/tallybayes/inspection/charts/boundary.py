"""Decision boundaries over two columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.errors import DataError
from tallybayes.inspection.charts._model import AsDict, listed, model_of, rows_of, rows_with_labels
from tallybayes.inspection.charts.columns import column_pictures
from tallybayes.inspection.charts.shapes import Curves


@dataclass(frozen=True)
class Boundary(AsDict):
    """Posteriors over a grid of two columns, all others unknown.

    Parameters
    ----------
    columns : tuple of two str
    classes : tuple
    x, y : ndarray of shape (m,) and (n,)
    posterior : ndarray of shape (n, m, K)
    line : tuple of ndarray of shape (2,) and float, optional
        w and b of two classes whose log odds are w·x + b; zero on the line.
    mean, covariance : ndarray of shape (K, 2) and (K, 2, 2), optional
        Of each class, where both columns are normal.
    """

    columns: tuple[str, str]
    classes: tuple[Level, ...]
    x: Array
    y: Array
    posterior: Array
    line: tuple[Array, float] | None = None
    mean: Array | None = None
    covariance: Array | None = None

    def __str__(self) -> str:
        best = self.posterior.argmax(axis=2)
        rows = best[:: max(1, len(self.y) // 16)][::-1, :: max(1, len(self.x) // 48)]
        letters = [str(label)[:1] or "·" for label in self.classes]
        letters = letters if len(set(letters)) == len(letters) else [chr(97 + k % 26) for k in range(len(letters))]
        lines = ["".join(letters[k] for k in row) for row in rows]
        key = ", ".join(f"{sign} {label}" for sign, label in zip(letters, self.classes, strict=True))
        lines.append(f"{self.columns[1]} against {self.columns[0]}; {key}")
        if self.line is not None:
            (w0, w1), b = self.line
            lines.append(f"{w0:+.4g}·{self.columns[0]} {w1:+.4g}·{self.columns[1]} {b:+.4g} = 0")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return super().as_dict() | {"line": self.line and {"w": listed(self.line[0]), "b": self.line[1]}}


def boundary(
    model: Any, columns: tuple[str, str] | None = None, X: Any = None, y: Any = None, points: int = 120
) -> Boundary:
    """Posteriors over two columns of numbers.

    Parameters
    ----------
    model : Model or estimator
    columns : two column names, optional
        The two most informative numbers if not given.
    X, y : table and labels, or labelled Rows, optional
        Rows that the grid is to reach over.
    points : int
        Of each side of the grid.

    Returns
    -------
    Boundary

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 0.0], [6.0, 2.0]])
    >>> found = boundary(GaussianNB(variance="shared").fit(X, ["left", "left", "right", "right"]))
    >>> w, b = found.line
    >>> w.round(3).tolist(), round(b, 3)
    ([4.0, 0.0], -12.0)
    """
    data, model = rows_with_labels(model, X, y), model_of(model)
    if any(map(model.is_document, model.tally.blocks)):
        raise DataError("a bag of words has no two columns to draw; a model of numbers has")
    pictures = {p.column: p for p in column_pictures(model, data) if isinstance(p.shape, Curves)}
    if columns is None:
        if len(pictures) < 2:
            raise DataError("a boundary needs two columns of numbers")
        one, other, *_ = pictures
        columns = (one, other) if model.schema.names.index(one) < model.schema.names.index(other) else (other, one)
    first, second = columns
    for name in (first, second):
        if name not in pictures:
            raise DataError(f"{name!r} is no column of numbers; there are {', '.join(pictures) or 'none'}")
    x, y = (_reach(pictures[name], points) for name in (first, second))
    across, along = np.meshgrid(x, y)
    grid = rows_of(model, {first: across.ravel(), second: along.ravel()})
    posterior = model.posterior(grid).reshape(len(y), len(x), -1)
    mean, covariance = _normals(model, first, second)
    return Boundary(
        (first, second), model.schema.classes, x, y, posterior, _line(model, first, second), mean, covariance
    )


def _reach(picture: Any, points: int) -> Array:
    at = picture.shape.points
    return np.linspace(float(at[0]), float(at[-1]), points)


def _place(model: Model, name: str) -> tuple[str, int]:
    for block, columns in ((n, b.columns) for n, b in model.tally.blocks.items()):
        for j, p in enumerate(columns):
            if model.schema.columns[p].name == name:
                return block, j
    raise DataError(f"there is no column {name!r}")


def _normals(model: Model, first: str, second: str) -> tuple[Array | None, Array | None]:
    """Mean and covariance of the two columns in each class, where both are normal."""
    (a, i), (b, j) = _place(model, first), _place(model, second)
    found = model.settings.families[a].normal(model.parameters[a], [i, j]) if a == b else None
    return (None, None) if found is None else found


def _line(model: Model, first: str, second: str) -> tuple[Array, float] | None:
    """w and b where the log odds of two classes are linear in both columns, read off three points of the plane.

    Three points fix a plane; a fourth, far off, shows whether there is one.
    """
    mean, covariance = _normals(model, first, second)
    if model.n_classes != 2 or mean is None or covariance is None:
        return None
    centre, scale = mean.mean(axis=0), np.sqrt(np.einsum("kii->i", covariance) / 2.0)
    at = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, -2.0]]) * scale + centre
    joint = model.log_joint(rows_of(model, {first: at[:, 0], second: at[:, 1]}))
    odds = joint[:, 1] - joint[:, 0]
    w = (odds[1:3] - odds[0]) / scale
    b = float(odds[0] - w @ centre)
    straight = abs(w @ at[3] + b - odds[3]) <= 1e-6 * (1.0 + np.abs(odds).max())
    return (w, b) if straight else None
