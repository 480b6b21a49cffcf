"""Messages of the library in the words of the command line: its options instead of Python's parameters."""

from __future__ import annotations

import argparse
import re

OTHERS = {"sample_weight": "weight", "y": "target"}  # parameters whose option has another name


def in_options(message: str, options: argparse.Namespace) -> str:
    """A message with the options of the command in the place of parameters.

    Examples
    --------
    >>> train = argparse.Namespace(alpha=None, drop=[], unlabelled="error", max_pairs=None)
    >>> in_options("The 'max_pairs' parameter of NaiveBayes must be a whole number", train)
    '--max-pairs must be a whole number'
    >>> in_options("leave such rows out (unlabelled='ignore')", train)
    'leave such rows out (--unlabelled ignore)'
    >>> in_options("drop names the column 'x'", train)
    "--drop names the column 'x'"
    """

    def option(name: str) -> str | None:
        known = OTHERS.get(name, name)
        return f"--{known.replace('_', '-')}" if hasattr(options, known) else None

    def parameter(found: re.Match[str]) -> str:
        return option(found[1]) or found[0]

    def keyword(found: re.Match[str]) -> str:
        name = option(found[1])
        return found[0] if name is None else name if found[2] == "True" else f"{name} {found[2].strip(chr(39))}"

    message = re.sub(r"[Tt]he '(\w+)' parameter of \w+", parameter, message)
    message = re.sub(r"(?<![\w-])(\w+)=('[^']*'|[\w.]+)(?!\w)", keyword, message)
    return re.sub(r"^(\w+)(?= (?:names|of column|of the class|must be)\b)", parameter, message)
