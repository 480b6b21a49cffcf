"""``tallybayes scorecard``: a model as points."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tallybayes.cli.screen import console, label_of, note, print_json, read_model
from tallybayes.core.schema import plural
from tallybayes.data.atomic import replacing
from tallybayes.errors import SettingError
from tallybayes.export import scorecard_sql
from tallybayes.inspection.card import Scorecard
from tallybayes.inspection.scorecard import scorecard

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Scorecard</title>
<meta name="viewport" content="width=device-width">
<style>:root{color-scheme:light dark}body{margin:1.5em}</style>
"""


def run(options: argparse.Namespace) -> None:
    """Print the card, or write it in the form that the suffix of the file names."""
    model, _ = read_model(options.model)
    label = None if options.label is None else label_of(model.schema.classes, options.label)
    points = options.points_to_double_odds
    card = scorecard(model, points, options.base, options.odds, not options.no_rounding, label)
    if options.output is None:
        if options.json:
            print_json(card.as_dict())
        else:
            console().print(str(card))
        return
    text = _written(card, options)
    with replacing(options.output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    note(f"{plural(len(card.columns), 'column')} written to {options.output}", options)


def _written(card: Scorecard, options: argparse.Namespace) -> str:
    suffix = Path(options.output).suffix.lower()
    if suffix == ".sql":
        return scorecard_sql(card, options.table, options.dialect, options.keep or None)
    if suffix == ".json":
        return json.dumps(card.as_dict(), indent=1, ensure_ascii=False, default=str) + "\n"
    if suffix in (".html", ".htm"):
        return f"{HEAD}{card.to_html()}\n</html>\n"
    if suffix == ".md":
        return card.to_markdown()
    if suffix == ".csv":
        return card.to_csv()
    raise SettingError(f"a scorecard is written as .html, .csv, .md, .json or .sql, not as {suffix or 'a bare name'!r}")
