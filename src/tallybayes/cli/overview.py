"""The overview of a model on one screen: verdict, warnings, columns by importance, what was left out, what is next."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from tallybayes.cli.drawing import bar
from tallybayes.cli.screen import Screen
from tallybayes.core.levels import few_of
from tallybayes.core.listings import short
from tallybayes.core.schema import plural
from tallybayes.inspection.charts import Concern
from tallybayes.inspection.overview import LeftOut, Overview, Used

WIDEST = 100  # characters of a line, however wide the terminal
MOST_WARNINGS = 4
MOST_ALIKE = {"dependent": 1, "identifier": 2, "leak": 2, "like names": 2}  # warnings of a kind
MOST_COLUMNS = 9
MOST_LEFT_OUT = 5
LEAST = 5e-4  # nats that are shown as a figure
FIGURES = 21  # characters of importance, weight and its mark


def print_overview(found: Overview, screen: Screen) -> None:
    """Print what `inspection.overview` found, in at most a screen."""
    width = min(screen.width, WIDEST)
    sentence = "Not evaluated: tallybayes evaluate does." if found.verdict is None else str(found.verdict)
    for line in textwrap.wrap(sentence, width):
        screen.print(Text(line, style="bold"))
    screen.print()
    shown = _strongest(found.warnings)
    print_warnings(shown, screen)
    if len(shown) < len(found.warnings):
        screen.print(f"{_more(shown, found.warnings)}: see --verbose")
    if found.warnings:
        screen.print()
    print_columns(found.columns, screen, MOST_COLUMNS)
    if found.left_out:
        screen.print()
        _wrapped("left out: ", left_out(found.left_out, MOST_LEFT_OUT), width, screen)


def _strongest(warnings: Sequence[Concern]) -> list[Concern]:
    """Some warnings of every kind, so that none of them is hidden by many others."""
    seen: Counter[str] = Counter()
    kept = []
    for concern in warnings:
        seen[concern.kind] += 1
        if seen[concern.kind] <= MOST_ALIKE.get(concern.kind, MOST_WARNINGS):
            kept.append(concern)
    return kept[:MOST_WARNINGS]


def _more(shown: Sequence[Concern], found: Sequence[Concern]) -> str:
    """What the warnings that are not shown are about."""
    hidden = [concern.kind for concern in found if concern not in shown]
    if set(hidden) == {"dependent"}:
        return f"{plural(len(hidden), 'more pair')} of redundant columns"
    return plural(len(hidden), "more warning")


def print_warnings(warnings: Sequence[Concern], screen: Screen) -> None:
    """Print warnings, each as a paragraph."""
    for concern in warnings:
        _wrapped("warning: ", str(concern), min(screen.width, WIDEST), screen, "bold red")


def print_columns(columns: Sequence[Used], screen: Screen, most: int) -> None:
    """Print columns by importance, each with a bar and its weight, and how many more there are."""
    strong = [used for used in columns if used.importance >= LEAST]
    weak = [used.title for used in columns if used.importance < LEAST]
    if strong:
        _print_bars(strong, screen, most)
    if weak and strong:
        named, one = (few_of(weak), False) if len(weak) > 1 else (weak[0], True)
        sentence = f"{named} {'carries' if one else 'carry'} almost no evidence by {'itself' if one else 'themselves'}"
        screen.print("\n".join(textwrap.wrap(sentence, min(screen.width, WIDEST))))
    elif not strong:
        screen.print("no column is evidence about the class")


def _print_bars(columns: Sequence[Used], screen: Screen, most: int) -> None:
    width, shown = min(screen.width, WIDEST), columns[:most]
    wide = min(max(len("column"), *(len(used.title) for used in shown)), max(12, (width - FIGURES) // 2))
    room, largest = max(4, width - wide - FIGURES - 3), max(used.importance for used in shown) or 1.0
    screen.print(Text(f"{'column':{wide}} {'importance':{room + 9}} {'weight':>8}".rstrip(), style="dim"))
    for used in shown:
        drawn = bar(0.0, room * used.importance / largest) if used.importance else ""
        line = Text(f"{short(used.title, wide):{wide}} ")
        line.append(f"{drawn:{room}}", style="blue")
        line.append(f" {used.importance:8.3f} {used.weight:8.2f}{'*' if used.is_corrected else ''}")
        screen.print(line)
    rest = columns[most:]
    if rest:
        screen.print(f"and {len(rest)} more, {sum(used.importance for used in rest):.3f} together")
    if any(used.is_corrected for used in shown):
        screen.print(Text("* and a correction learned from rows", style="dim"))


def left_out(gone: Sequence[LeftOut], most: int) -> str:
    """Name columns that are not used, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for each in gone:
        reasons.setdefault(each.why, []).append(each.column)
    shown, left = [], most
    for why, names in reasons.items():
        few = names[: max(left, 0)]
        left -= len(few)
        if few:
            hidden = f" and {len(names) - len(few)} more" if len(names) > len(few) else ""
            shown.append(f"{', '.join(few)}{hidden} ({why})")
    hidden_reasons = len(reasons) - len(shown)
    return "; ".join([*shown, *([f"{plural(hidden_reasons, 'other reason')}"] if hidden_reasons else [])])


def print_next(data: str, model: str | None, screen: Screen) -> None:
    """Print where the model was written and the two commands to run next."""
    path = model or f"{_stem(data)}.tally"
    if model is None:
        screen.print(f"not written: add -o {shlex.quote(path)} to keep the model")
    else:
        screen.print(f"written to {model}")
    rows = shlex.quote(data) if data != "-" else "ROWS.csv"
    screen.print(f"next: tallybayes explain {shlex.quote(path)} {rows} --row 1")
    screen.print(f"      tallybayes predict {shlex.quote(path)} NEW.csv -o predictions.csv")


def _stem(data: str) -> str:
    name = data.rsplit("/", 1)[-1].split(".")[0]
    return name if name and not {*name} & {*"*?[-"} else "model"


def _wrapped(head: str, text: str, width: int, screen: Screen, style: str = "dim") -> None:
    """Print a paragraph whose first words are marked."""
    lines = textwrap.wrap(text, max(width - len(head), 20))
    for i, line in enumerate(lines):
        shown = Text(head if i == 0 else " " * len(head), style=style)
        shown.append(line, style="not dim not bold default")
        screen.print(shown)
