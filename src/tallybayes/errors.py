"""Exceptions and warnings; their messages name the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

NEVER_LEARNED = "these rows were not in the tally, so they cannot be taken back"


class TallybayesError(Exception):
    """Base of all errors that tallybayes raises on purpose."""


class DataError(TallybayesError, ValueError):
    """The data cannot be used as it is; the message names the column and the remedy."""


class UnknownLabelError(DataError):
    """A label is none of the classes."""


class NegativeError(DataError):
    """A count, or the code of a category, is below zero."""


class SchemaError(TallybayesError, ValueError):
    """Two sets of columns, levels or classes do not fit each other."""


class SettingError(TallybayesError, ValueError):
    """A setting has a value that makes no sense."""


class UnlearnError(TallybayesError, ValueError):
    """Rows are to be taken back that were never learned."""


@contextmanager
def unlearning() -> Iterator[None]:
    """Rows of a class that the model does not know were never learned."""
    try:
        yield
    except UnknownLabelError as error:
        raise UnlearnError(f"{NEVER_LEARNED} ({error})") from None


class RowError(UnlearnError):
    """A row is to be left out of a tally that does not hold it."""

    def __init__(self, row: int) -> None:
        super().__init__(
            f"row {row} was not learned with this label and weight: leave-one-out needs the rows, labels and weights "
            "that the model was fitted on"
        )
        self.row = row


class MissingExtraError(TallybayesError, ImportError):
    """A library that only some users need is not installed; the message shows how to install it."""


def needs(library: str, extra: str) -> None:
    """Raise an error that names the extra of the package to install, where a library is missing."""
    if find_spec(library) is None:
        raise MissingExtraError(f"this needs {library}: pip install 'tallybayes[{extra}]'")


class ModelFileError(TallybayesError, ValueError):
    """A file is no model file, is damaged, or is of a version to come; nothing of it was used."""


class NotAvailableError(TallybayesError, AttributeError):
    """The model has no such property; the message shows why and what to use instead."""


class ForbiddenRowWarning(UserWarning):
    """Rows that no class allows were given the prior as their posterior."""


class LabelWarning(UserWarning):
    """A new class is written almost as one that is known."""


class ColumnWarning(UserWarning):
    """Columns are missing, left over or no evidence; the model goes on without them."""


class RankWarning(UserWarning):
    """A covariance matrix has directions in which nothing varies."""


class CellError(DataError):
    """A cell that a family cannot use, before the name of its column is known.

    Parameters
    ----------
    problem : str
        What is wrong, as the end of the sentence "column 'age' ...".
    advice : str
        What to do about it, as a sentence.
    row, column : int
        Where, counted within the block of columns that the family was given.
    kind : type of DataError
        The error once the column has a name.
    """

    def __init__(self, problem: str, advice: str, row: int, column: int, kind: type[DataError] = DataError) -> None:
        super().__init__(f"column {column} {problem} (row {row}). {advice}")
        self.problem, self.advice, self.row, self.column, self.kind = problem, advice, row, column, kind

    def named(self, names: Sequence[str], first_row: int = 0) -> DataError:
        """Return the error with the column's name and the row counted from the first row of the data."""
        return self.kind(f"column {names[self.column]!r} {self.problem} (row {first_row + self.row}). {self.advice}")


def bad_number(value: float, row: int, column: int) -> CellError:
    """Return the error for a number that cannot be used: infinite, a missing count, or a negative count."""
    if value != value:
        return CellError("holds NaN", "Counts cannot be missing: fill it, or leave the row out.", row, column)
    if value in (float("inf"), float("-inf")):
        return CellError(
            "is infinite", "Replace infinite values, with NaN if they stand for missing ones.", row, column
        )
    return CellError(
        f"holds the count {value:g}", "Negative values in data cannot be counted.", row, column, NegativeError
    )
