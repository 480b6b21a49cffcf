"""A parser that refuses what it does not know with its own usage, and names the option that may have been meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """The parser of a command; of several it is that of the command itself which refuses an option."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse, and leave nothing to the parser above."""
        self._given = sys.argv[1:] if args is None else list(args)
        known, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return known, others

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and which options may have been meant by words that are none."""
        super().error(message + meant(self._given, self._option_string_actions))


def meant(words: Iterable[str], options: Iterable[str]) -> str:
    """A question that names the options most like the words that are none.

    Examples
    --------
    >>> meant(["--taget", "y"], ["--target", "--help"]), meant(["y", "--targ"], ["--target"])
    ('; did you mean --target?', '')
    """
    import difflib  # a delivery of mail does not wait for it

    known, given = list(options), [word.partition("=")[0] for word in words if word.startswith("--")]
    given = [word for word in given if not any(option.startswith(word) for option in known)]
    near = [found for word in given for found in difflib.get_close_matches(word, known, n=1)]
    return f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
