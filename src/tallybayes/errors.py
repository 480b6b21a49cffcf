"""Exceptions and warnings; their messages name the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

MOST_NAMED = 20  # columns or classes that a message lists
NEVER_LEARNED = "these rows were not in the tally, so they cannot be taken back"


def row_number(row: int) -> int:
    """The number of a row in messages: rows are counted from 1, without the header, in every interface."""
    return int(row) + 1


def plain(message: str) -> str:
    """A message without the way in which NumPy writes its values.

    Examples
    --------
    >>> plain("not np.float64(-1.0), np.str_('a') or np.True_")
    "not -1.0, 'a' or True"
    """
    return re.sub(r"\bnp\.(True|False)_\b", r"\1", re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", message))


def nearest(name: object, known: Iterable[object], owner: str = "the model") -> str:
    """What may have been meant by a name that nobody knows, or what there is.

    Examples
    --------
    >>> nearest("Wnd", ["outlook", "wind"]), nearest("x", ["outlook", "wind"])
    ("did you mean 'wind'?", 'the model has outlook, wind')
    """
    names = {str(each): each for each in known}
    alike = {each.casefold(): each for each in names}
    found = difflib.get_close_matches(str(name).casefold().strip(), alike, n=1)
    if found:
        return f"did you mean {names[alike[found[0]]]!r}?"
    return f"{owner} has {', '.join(list(names)[:MOST_NAMED])}{', …' if len(names) > MOST_NAMED else ''}"


class TallybayesError(Exception):
    """Base of all errors that tallybayes raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(plain(str(message)))


class DataError(TallybayesError, ValueError):
    """The data cannot be used as it is; the message names the column and the remedy."""

    cell: tuple[CellError, Sequence[str], int] | None = None  # the cell that it is about

    def moved(self, rows: int) -> DataError:
        """The same error where so many rows were read before those that the cell is counted in."""
        if self.cell is None or not rows:
            return self
        problem, names, first_row = self.cell
        return problem.named(names, first_row + rows)


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
            f"row {row_number(row)} was not learned with this label and weight: leave-one-out needs the rows, labels "
            "and weights that the model was fitted on"
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
    """A new class is written almost as one that is known, or two models that are added predict other columns."""


class ColumnWarning(UserWarning):
    """Columns are missing, left over or no evidence; the model goes on without them."""


class PrivacyWarning(UserWarning):
    """Something that was read off the rows is released as it is."""


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
        super().__init__(f"column {column} {problem} (row {row_number(row)}). {advice}")
        self.problem, self.advice, self.row, self.column, self.kind = problem, advice, row, column, kind

    def named(self, names: Sequence[str], first_row: int = 0) -> DataError:
        """Return the error with the column's name and the row counted from the first row of the data."""
        row = row_number(first_row + self.row)
        error = self.kind(f"column {names[self.column]!r} {self.problem} (row {row:,}). {self.advice}")
        error.cell = self, names, first_row
        return error


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


class LedgerError(TallybayesError, ValueError):
    """A ledger cannot do this; nothing was changed."""


class PeriodError(LedgerError):
    """A period is none of the ledger's, or several of them."""


class UnknownKeyError(LedgerError):
    """No rows were ever added under this key."""


class ForgottenError(LedgerError):
    """The key was forgotten, or the batch went with it."""


class BatchError(LedgerError):
    """A batch of this id was added before, and it held other rows."""


class ClockError(LedgerError):
    """The clock of this machine is behind the last entry of the ledger."""


class PlanError(LedgerError):
    """Rows were counted by another plan of columns than the ledger's."""
