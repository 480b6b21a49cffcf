"""The configuration file of the filter: options that every command would otherwise repeat.

# ~/.config/tallybayes/mail.toml
database = "~/mail/mail.tally"
header = "X-Tallybayes"
spam_from = 0.99
ham_below = 0.05
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from tallybayes.errors import SettingError

HEADER = "X-Tallybayes"
# A header of a kind that is no evidence: another would teach the filter its own verdicts.
HEADER_NAME = re.compile(r"(?i)x-(?:tallybayes|spam|bogosity)[-a-z0-9_]{0,60}")


@dataclass(frozen=True)
class Config:
    """What a configuration file may set; None where the filter or the command decides."""

    database: str | None = None
    socket: str | None = None
    header: str = HEADER
    spam_from: float | None = None
    ham_below: float | None = None
    max_false_positives: float | None = None
    memory: bool = True
    autolearn: bool = False
    autolearn_spam: float = 0.999  # least probability of spam of a message that is learned as spam
    autolearn_ham: float = 0.001  # and the largest of one that is learned as ham

    @classmethod
    def read(cls, given: str | os.PathLike[str] | None = None) -> Config:
        """Read a configuration file, or that of the user if there is one.

        Raises
        ------
        SettingError
            If it sets something that does not exist, or to a value that it cannot have.
        """
        path = user_path() if given is None else os.fspath(given)
        if given is None and not os.path.isfile(path):
            return cls()
        import tomllib  # only where there is a file

        with open(path, "rb") as file:
            try:
                content = tomllib.load(file)
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise SettingError(f"{path} is not TOML: {error}") from error
        known = {field.name: field.type for field in fields(cls)}
        for name, value in content.items():
            if name not in known:
                raise SettingError(f"{path} sets {name!r}, which does not exist; there are {', '.join(known)}")
            if not CHECKS[str(known[name])](value):
                raise SettingError(f"{path} sets {name} to {value!r}, which it cannot be")
        return cls(**{name: _expanded(name, value) for name, value in content.items()}).checked(path)

    def checked(self, where: object) -> Config:
        """The same, if its values can be used."""
        if not HEADER_NAME.fullmatch(self.header):
            raise SettingError(
                f"{where} sets header to {self.header!r}; a header that the filter does not take for evidence begins "
                "with X-Tallybayes, X-Spam or X-Bogosity"
            )
        if not 0.0 <= self.autolearn_ham <= self.autolearn_spam <= 1.0:
            raise SettingError(f"{where} sets autolearn_ham above autolearn_spam, or one of them is no probability")
        return self


CHECKS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "str | None": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0,
    "float | None": lambda value: (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0
    ),
}


def _expanded(name: str, value: Any) -> Any:
    return os.path.expanduser(value) if name in ("database", "socket") else value


def user_path() -> str:
    """The configuration file of the user: $TALLYBAYES_MAIL_CONFIG, or mail.toml in the configuration directory."""
    if given := os.environ.get("TALLYBAYES_MAIL_CONFIG"):
        return given
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "tallybayes", "mail.toml")
