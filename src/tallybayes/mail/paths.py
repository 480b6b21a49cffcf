"""Where the files of a filter are. Nothing else is imported: deliveries wait for it."""

from __future__ import annotations

import os

SOCKET_SUFFIX = ".sock"


def default_path() -> str:
    """The default path of the database: $TALLYBAYES_MAIL, or mail.tally in the user's data directory."""
    if given := os.environ.get("TALLYBAYES_MAIL"):
        return given
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(home, "tallybayes", "mail.tally")


def socket_path(database: str | os.PathLike[str]) -> str:
    """The socket of the server for a database, beside it."""
    return os.path.realpath(database) + SOCKET_SUFFIX
