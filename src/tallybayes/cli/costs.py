"""Costs of wrong decisions as the command line gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tallybayes.cli.screen import label_of
from tallybayes.core.batch import Array
from tallybayes.core.costs import cost_matrix
from tallybayes.core.schema import Level
from tallybayes.errors import DataError, SettingError

FORM = "TRUE:PREDICTED=COST,… such as no:yes=5,yes:no=1, or the name of a JSON file"


def costs_of(text: str, classes: tuple[Level, ...]) -> Array:
    """The costs (K, K) that ``TRUE:PREDICTED=COST,…`` says, or a JSON file of ``{true: {predicted: cost}}``.

    Examples
    --------
    >>> costs_of("no:yes=5,yes:no=1", ("no", "yes"))
    array([[0., 5.],
           [1., 0.]])
    """
    given = _of_file(text) if text.endswith(".json") else _of_text(text, classes)
    costs: dict[tuple[Level, Level], Any] = {}
    for true, predicted, cost in given:
        pair = label_of(classes, true), label_of(classes, predicted)
        if pair in costs:
            raise SettingError(f"--costs has {true}:{predicted} twice")
        costs[pair] = cost
    return cost_matrix(costs, classes)


def _of_text(text: str, classes: Sequence[Level]) -> Iterator[tuple[str, str, str]]:
    for part in text.split(","):
        pair, _, cost = part.rpartition("=")  # a label may hold signs, as <=50K does
        halves = [(pair[:i], pair[i + 1 :]) for i, sign in enumerate(pair) if sign == ":"]
        if not halves:
            raise SettingError(f"--costs must be {FORM}, not {part.strip()!r}")
        names = {str(label) for label in classes}
        known = [(true.strip(), other.strip()) for true, other in halves]
        yield *next((both for both in known if names.issuperset(both)), known[0]), cost


def _of_file(name: str) -> Iterator[tuple[str, str, Any]]:
    try:
        given = json.loads(Path(name).read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
    except SettingError as error:
        raise SettingError(f"{name}: {error}") from None
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is no JSON: {error}") from None
    if not (isinstance(given, dict) and all(isinstance(of, dict) for of in given.values())):
        raise SettingError(f'{name} must say {{"true class": {{"predicted class": cost}}}}')
    for true, of in given.items():
        yield from ((true, predicted, cost) for predicted, cost in of.items())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; JSON itself would take the last of two values of a name."""
    names = [name for name, _ in pairs]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise SettingError(f"the costs name {twice!r} twice")
    return dict(pairs)
