"""Reason codes as the command line asks for them."""

from __future__ import annotations

import argparse

from tallybayes.cli.screen import label_of
from tallybayes.core.model import Model
from tallybayes.errors import SettingError
from tallybayes.inspection.reasons import ReasonPlan, reason_plan


def reason_codes(model: Model, options: argparse.Namespace) -> ReasonPlan | None:
    """What they are worked out with; None where they are not asked for."""
    if options.reasons is None:
        for name, usual in (("group", []), ("label", None), ("reference", "population")):
            if getattr(options, name) != usual:
                raise SettingError(f"--{name} belongs to reason codes: say how many with --reasons N")
        return None
    groups = {}
    for text in options.group:
        name, equals, columns = text.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"--group must be LABEL=COLUMN,COLUMN,…, not {text!r}")
        groups[name.strip()] = [column.strip() for column in columns.split(",")]
    label = None if options.label is None else label_of(model.schema.classes, options.label)
    return reason_plan(model, options.reasons, options.reference, groups, label)
