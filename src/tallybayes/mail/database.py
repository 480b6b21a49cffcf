"""The filter's file: an ordinary model file that one process changes at a time.

A process that changes it holds its lock from before it is read until it is replaced, so that two deliveries at once
lose nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tallybayes import storage
from tallybayes.core.model import Model
from tallybayes.errors import DataError
from tallybayes.mail import filter as mail
from tallybayes.storage.lock import WAIT, locked


def default_path() -> Path:
    """The default path of the database: $TALLYBAYES_MAIL, or mail.tally in the user's data directory."""
    if given := os.environ.get("TALLYBAYES_MAIL"):
        return Path(given)
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(home) / "tallybayes" / "mail.tally"


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
        return mail.adopted(storage.read(path))
    except FileNotFoundError:
        raise DataError(f"there is no database {os.fspath(path)} yet; mail train or mail learn makes one") from None


def create(model: Model, path: str | os.PathLike[str], wait: float = WAIT) -> None:
    """Write a filter; an existing file is replaced."""
    _make_directory(path)
    with locked(path, wait):
        storage.write(model, path)


def update(path: str | os.PathLike[str], change: Callable[[Model], Model], wait: float = WAIT) -> Model:
    """Change a filter while no other process does; it is created empty if it does not exist.

    Parameters
    ----------
    path : path
    change : callable
        Takes the model and returns the one to be written. If it raises, the file is not changed.
    wait : float
        Seconds to wait for the lock.

    Returns
    -------
    Model
        What was written.

    Raises
    ------
    LockedError
        If another process holds the lock for longer.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.tally"
    >>> update(path, lambda model: mail.learn(model, ["free\\nmoney"], "spam"))
    Model(clues:message; Tally(1 row; ham: 0, spam: 1; 1 column))
    """
    _make_directory(path)
    with locked(path, wait):
        changed = change(read(path) if os.path.exists(path) else mail.empty())
        storage.write(changed, path)
    return changed


def _make_directory(path: str | os.PathLike[str]) -> None:
    Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
