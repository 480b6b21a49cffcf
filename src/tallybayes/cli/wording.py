"""Messages of the library in the words of the command line: its options instead of Python's parameters."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from typing import Any

OTHERS = {"sample_weight": "weight", "y": "target"}  # parameters whose option has another name
OF_TRAIN = ("classical", "kind", "drop", "family", "missing_values", "decimal", "dates", "encoding", "readable")
ELSEWHERE = {**dict.fromkeys(OF_TRAIN, "train"), **dict.fromkeys(("half_lives", "windows"), "ledger create")}
ATTRIBUTES = {"schema_": "show"}  # what Python calls an attribute, and the command that prints it
# Names and values may come from strangers: they must not steer a terminal, nor turn the order of what it shows.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
VALUE = r"""\[[^\]]*\]|\{[^}]*\}|'[^']*'|"[^"]*"|[\w.]+|…"""


def shown(text: str) -> str:
    """A text without the characters that steer a terminal.

    Examples
    --------
    >>> shown("in\\x1b[2Jcome")
    'in[2Jcome'
    """
    return STEERING.sub("", text)


def in_options(message: str, options: argparse.Namespace) -> str:
    """A message with the options of the command in the place of parameters; those of another command are named with it.

    Examples
    --------
    >>> train = argparse.Namespace(alpha=None, drop=[], kind=[], unlabelled="error", max_pairs=None)
    >>> in_options("The 'max_pairs' parameter of NaiveBayes must be a whole number", train)
    '--max-pairs must be a whole number'
    >>> in_options("leave such rows out (unlabelled='ignore')", train)
    'leave such rows out (--unlabelled ignore)'
    >>> in_options("drop names the column 'x'", train)
    "--drop names the column 'x'"
    >>> in_options("kind={'a b': 'category'} keeps it, drop=['x'] does not", train)
    "--kind 'a b=category' keeps it, --drop x does not"
    >>> in_options("learn it with kind={'zip': 'category'}", argparse.Namespace())
    'learn it with train --kind zip=category'
    """

    def option(name: str) -> str | None:
        known = OTHERS.get(name, name)
        spelled = f"--{known.replace('_', '-')}"
        if hasattr(options, known):
            return spelled
        return f"{ELSEWHERE[known]} {spelled}" if known in ELSEWHERE else None

    def parameter(found: re.Match[str]) -> str:
        return option(found[1]) or found[0]

    def keyword(found: re.Match[str]) -> str:
        name = option(found[1])
        return found[0] if name is None else f"{name} {_typed(found[2])}".rstrip()

    message = re.sub(r"[Tt]he '(\w+)' parameter of \w+", parameter, message)
    message = re.sub(rf"(?<![\w-])(\w+)=({VALUE})(?!\w)", keyword, message)
    for name, command in ATTRIBUTES.items():
        message = re.sub(rf"\b{name}(?=\W|$)", f"tallybayes {command}", message)
    return re.sub(r"^(\w+)(?= (?:names|of column|of the class|must be)\b)", parameter, message)


def _typed(value: str) -> str:
    """The value of a parameter as it is typed in a shell."""
    try:
        parsed: Any = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        parsed = value
    if parsed is True:
        return ""
    if isinstance(parsed, dict):
        parsed = [f"{name}={'<'.join(given) if isinstance(given, list) else given}" for name, given in parsed.items()]
    if isinstance(parsed, list):
        return shlex.quote(",".join(map(str, parsed)))
    return shlex.quote(str(parsed)) if isinstance(parsed, str) and parsed != value else value.strip("'")
