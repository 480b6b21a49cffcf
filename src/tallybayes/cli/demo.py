"""``tallybayes demo``: the tennis example, with its tables and one prediction worked out."""

from __future__ import annotations

import argparse
import json

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from tallybayes.cli.drawing import waterfall
from tallybayes.cli.screen import Screen
from tallybayes.core.model import Model
from tallybayes.core.settings import Settings
from tallybayes.data.datasets import tennis
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.data.tallies import tally
from tallybayes.errors import DataError, SettingError
from tallybayes.families import Categorical
from tallybayes.inspection.explain import Explanation, Worked, explain, level_ratios, prior_ratios, worked

DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


def run(options: argparse.Namespace) -> None:
    """Learn the table and print the model and one prediction."""
    if not 0 <= options.alpha < float("inf"):
        raise SettingError(f"--alpha must be a number of at least 0, not {options.alpha:g}")
    model = learn_tennis(options.alpha)
    day = dict(_pair(text) for text in options.values) or DAY
    work = worked(model, day)
    if options.json:
        print(json.dumps(work.as_dict(), indent=2))
        return
    show(model, work, screen := Screen(highlight=False))
    if options.plot:
        screen.print()
        waterfall(explained(model, day), screen)


def learn_tennis(alpha: float) -> Model:
    """Learn the 14 days that ship with the package."""
    days = tennis()
    played = days.pop("play")
    table, family = np.array(list(days.values()), dtype=object).T, Categorical(alpha=alpha)
    return Model(Settings({family.name: family}), tally(table, played, family, names=list(days)))


def explained(model: Model, day: dict[str, str]) -> Explanation:
    """The evidence of the day."""
    places = model.tally.places
    values = {**dict.fromkeys(model.schema.names), **day}
    return explain(model, TableBatch(model.schema, read_table([values]), places), values)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DataError(f"expected COLUMN=VALUE, got {text!r}; for example outlook=sunny")
    return name.strip(), value.strip()


def show(model: Model, work: Worked, console: Console) -> None:
    """Print the tables and the worked prediction."""
    classes = [str(label) for label in model.schema.classes]
    days = model.tally.class_weight.sum()
    console.print(f"[bold]Will they play tennis?[/] Learned from {days:g} days in one pass.\n")
    for ratio, label in zip(prior_ratios(model), classes, strict=True):
        console.print(f"  P(play={label}) = {ratio} = {float(ratio):.3f}")
    console.print()
    learned = Table("column", "value", *(f"P(value | {label})" for label in classes), box=box.SIMPLE_HEAD)
    for column in model.schema.columns:
        for i, (level, ratios) in enumerate(zip(column.levels or (), level_ratios(model, column.name), strict=True)):
            learned.add_row(column.name if i == 0 else "", str(level), *map(str, ratios))
        learned.add_section()
    console.print(learned)

    day = ", ".join(f"{factor.column}={factor.value}" for factor in work.factors)
    console.print(f"[bold]One prediction worked out:[/] {day}\n")
    steps = Table("", *classes, box=box.SIMPLE_HEAD)
    steps.add_row("P(play)", *map(str, work.prior))
    for factor in work.factors:
        steps.add_row(f"× P({factor.value} | play)", *map(str, factor.chance))
    steps.add_section()
    steps.add_row("= P(day, play)", *(f"{joint:.5f}" for joint in work.joint))
    steps.add_row(f"÷ P(day) = {work.evidence:.5f}", *(f"[bold]{p:.3f}[/]" for p in work.posterior))
    console.print(steps)
    certainty = max(work.posterior)
    console.print(f"  so [bold]play={work.best}[/] with probability {certainty:.3f}.")
    if work.evidence == 0:
        console.print("  No class allows this day (a zero count excludes it), so the prior is shown. Try --alpha 1.")
    elif 0.0 in work.joint:
        console.print("  A zero count excludes a class; --alpha 1 (Laplace smoothing) avoids it.")
