"""The filter's file: an ordinary model file. `ledger` changes it, one process at a time."""

from __future__ import annotations

import os

from tallybayes import storage
from tallybayes.core.model import Model
from tallybayes.errors import DataError
from tallybayes.mail import filter
from tallybayes.mail.scoring import no_database


def read(path: str | os.PathLike[str]) -> Model:
    """Read a filter.

    Raises
    ------
    DataError
        If there is none.
    ModelFileError
        If the file is damaged, or a model of something else.
    """
    try:
        return filter.adopted(storage.read(path))
    except FileNotFoundError:
        raise DataError(no_database(path)) from None
