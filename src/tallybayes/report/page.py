"""A report as one self-contained page of HTML: styles, scripts and parameters are in it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import tallybayes.report.svg as svg
from tallybayes import __version__
from tallybayes.core.evaluation import LEAVE_ONE_OUT, Evaluation
from tallybayes.core.schema import Column, Level, amount, plural
from tallybayes.inspection.charts import ColumnPicture, Concern
from tallybayes.inspection.explain import ProfileEntry
from tallybayes.inspection.verdict import Verdict

PER_PAGE = 12  # pictures that are on the page at first; as in page.js
MOST_PICTURES = 300
MOST_LISTED = 1000  # columns and classes in the tables
MOST_CONFUSED = 12  # classes in the confusion matrix
MOST_CONCERNS = 4  # that are not folded away


@dataclass(frozen=True)
class Report:
    """The content of a report; `html` renders it.

    Parameters
    ----------
    title : str
    target : str, optional
        Name of the column of labels.
    classes : tuple
    rows : tuple of float
        Weight of each class.
    prior : tuple of float
    columns : sequence of Column
    pictures : tuple of ColumnPicture
    concerns : tuple of Concern
    class_profiles : dict of class to tuple of ProfileEntry
    evaluation : Evaluation, optional
    settings : dict of str to str
    n_parameters : int
    scorer, controls : optional
        The parameters and the controls of the what-if form, as plain values.
    n_learned : int, optional
        Number of rows that the model has learned.
    verdict : Verdict, optional
        How good it is, in one sentence.
    more : tuple
        Further sections, each with its id, its title and its content.
    """

    title: str
    target: str | None
    classes: tuple[Level, ...]
    rows: tuple[float, ...]
    prior: tuple[float, ...]
    columns: Sequence[Column]
    pictures: tuple[ColumnPicture, ...]
    concerns: tuple[Concern, ...]
    class_profiles: dict[Level, tuple[ProfileEntry, ...]]
    evaluation: Evaluation | None
    settings: dict[str, str]
    n_parameters: int
    scorer: Any = None
    controls: Any = None
    n_learned: int | None = None
    verdict: Verdict | None = None
    more: tuple[tuple[str, str, str], ...] = ()

    def __repr__(self) -> str:
        n_columns = sum(not column.is_derived for column in self.columns)
        return f"Report({self.title!r}, {plural(n_columns, 'column')}, {plural(len(self.classes), 'class')})"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON, without the what-if form."""
        return {
            "title": self.title,
            "verdict": None if self.verdict is None else self.verdict.as_dict(),
            "target": self.target,
            "classes": [
                {"class": label, "rows": weight, "prior": p}
                for label, weight, p in zip(self.classes, self.rows, self.prior, strict=True)
            ],
            "columns": [{"name": c.name, "kind": c.kind, "why": c.reason} for c in self.columns],
            "pictures": [picture.as_dict() for picture in self.pictures],
            "concerns": [concern.as_dict() for concern in self.concerns],
            "evidence": {
                str(label): [{"text": entry.text, "strength": entry.strength} for entry in entries]
                for label, entries in self.class_profiles.items()
            },
            "evaluation": None if self.evaluation is None else self.evaluation.as_dict(),
            "settings": self.settings,
            "n_parameters": self.n_parameters,
        }

    def html(self, service: str | None = None) -> str:
        """The page; with the address of a service it also has a form for files to score."""
        sections = [*_sections(self, service)]
        links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
        body = "".join(
            f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{content}</section>'
            for name, title, content in sections
        )
        script = f"{asset('scorer.js')}\n{asset('page.js')}"
        data = "".join(_data(name, value) for name, value in (("scorer", self.scorer), ("controls", self.controls)))
        return (
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy(service is not None)}">'
            '<meta name="referrer" content="no-referrer">'
            f"<title>{escape(self.title)}</title><style>{asset('page.css')}</style></head>\n"
            '<body><a class="skip" href="#main">Skip to content</a>'
            f'<header><h1>{escape(self.title)}</h1><p class="lead">{_lead(self)}</p>'
            f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
            f'<main id="main">{body}</main>\n'
            f"<footer>Made by tallybayes {__version__}. This page loads nothing from the network.</footer>\n"
            f"{data}<script>{script}</script></body></html>\n"
        )


def policy(service: bool = False) -> str:
    """What the page may load: its own style and script, by their hashes, and nothing else."""
    script = f"{asset('scorer.js')}\n{asset('page.js')}"
    connect = "connect-src 'self'; " if service else ""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(asset('page.css'))}'; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return (files("tallybayes") / "report" / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(name: str, value: Any) -> str:
    """Values for the script; a tag in them could end the element, so there is none."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


# ------------------------------------------------------------------------------------------ sections


def _lead(report: Report) -> str:
    total = sum(report.rows)
    rows = "1 row" if total == 1 else f"{amount(total)} rows"
    used = sum(c.is_evidence for c in report.columns)
    names = [escape(str(label)) for label in report.classes]
    few = f"{', '.join(names[:-1])} or {names[-1]}" if 1 < len(names) <= 6 else plural(len(names), "class")
    what = escape(report.target) if report.target else "the class"
    verdict = "" if report.verdict is None else f" {escape(report.verdict.text)}"
    return f"Trained on {rows} and {plural(used, 'column')} to predict {what}: {few}.{verdict}"


def _sections(report: Report, service: str | None) -> Iterator[tuple[str, str, str]]:
    if report.concerns:
        yield "warnings", "Warnings", _concerns(report)
    if report.scorer is not None:
        yield "what-if", "What if", WHAT_IF
    elif len(report.classes) > 1:
        yield (
            "what-if",
            "What if",
            "<p>The model is too large for a page; use <code>tallybayes serve</code>.</p>",
        )
    if service is not None:
        yield "file", "Score a file", _drop(service)
    yield "performance", "Performance", _performance(report)
    yield from report.more
    if any(report.class_profiles.values()):
        yield "profiles", "Class profiles", _profiles(report)
    if report.pictures:
        yield "columns", "Columns", _columns(report)
    yield "training-data", "Training data", _training_data(report)


def _concerns(report: Report) -> str:
    items = [f"<li>{escape(c.text)}</li>" for c in report.concerns]
    first, rest = "".join(items[:MOST_CONCERNS]), items[MOST_CONCERNS:]
    more = f'<ul class="concerns">{"".join(rest)}</ul>'
    more = f"<details><summary>{len(rest)} more</summary>{more}</details>" if rest else ""
    return f'<ul class="concerns">{first}</ul>{more}'


WHAT_IF = """
<noscript><p>This part needs JavaScript; everything else does not.</p></noscript>
<p class="screen">Set the values of a row to see its prediction. Values that are not set are missing. The address of
this page keeps what you set.</p>
<div class="pager screen">
<button type="button" id="clear">clear all</button>
<label for="typical">typical row of class</label><select id="typical"><option value="">…</option></select>
</div>
<div class="whatif">
<div>
<p class="screen"><label for="find">find a column</label> <input id="find" type="search" autocomplete="off"></p>
<div id="controls-box"></div><div class="pager" id="controls-pager"></div>
</div>
<div class="result">
<p class="verdict" id="verdict" aria-live="polite"></p>
<table class="probs"><caption class="skip">probability of each class</caption><tbody id="probs"></tbody></table>
<h3>Evidence: <span id="compared"></span></h3>
<p class="small">Log odds; prior and evidence add up to the total.</p>
<table class="odds"><caption class="skip">evidence of each column</caption>
<colgroup><col class="what"><col class="number"><col></colgroup><tbody id="reasons"></tbody></table>
<p class="screen small compare"><label for="label">compare</label> <select id="label"></select>
<label for="against">with</label> <select id="against"></select></p>
</div>
</div>
"""


def _drop(service: str) -> str:
    return (
        f'<div class="drop" id="drop" data-to="{escape(service, quote=True)}"><p><label for="drop-file">Drop a '
        "CSV file here, or choose one; you get it back with a prediction for each row.</label></p>"
        '<input type="file" id="drop-file" accept=".csv,text/csv"><p id="drop-status" role="status"></p></div>'
    )


def _performance(report: Report) -> str:
    evaluation = report.evaluation
    if evaluation is None:
        return (
            "<p>Not evaluated: a model file does not contain the rows. <code>tallybayes report --data FILE</code> "
            "evaluates it on the training data or on other rows.</p>"
        )
    facts = [
        (
            "accuracy",
            f"{float(evaluation.accuracy):.1%}",
            f"baseline (majority class): {evaluation.baseline_accuracy:.1%}",
        ),
        (
            "log loss",
            f"{float(evaluation.log_loss):.3f}",
            f"baseline (class frequencies): {evaluation.baseline_log_loss:.3f}",
        ),
        ("macro F1", f"{evaluation.macro_f1:.3f}", f"balanced accuracy {evaluation.balanced_accuracy:.1%}"),
        ("calibration error", f"{evaluation.ece:.3f}", f"Brier score {float(evaluation.brier):.3f}"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>" for name, value, note in facts)
    how = " Each row is scored by the model without it." if evaluation.method == LEAVE_ONE_OUT else ""
    wide = " wide" if len(evaluation.classes) > 6 else ""
    *_, line = evaluation.lines(report.n_learned if evaluation.n_learned else None)
    interval = f"{evaluation.accuracy.low:.1%} to {evaluation.accuracy.high:.1%}"
    loss = f"{evaluation.log_loss.low:.3f} to {evaluation.log_loss.high:.3f}"
    return (
        f"<p>{escape(line[:1].upper() + line[1:])}.{how} 95&nbsp;% intervals: accuracy {interval}, log loss {loss}.</p>"
        f'<dl class="facts">{listed}</dl><div class="two{wide}"><div>'
        f"<h3>Confusion matrix</h3><p>Rows: true class. Columns: predicted class.</p>{_confusion(evaluation)}</div>"
        f"<div><h3>Calibration</h3>{svg.reliability(evaluation)}"
        "<p>Accuracy by confidence. On the dashed line the probabilities are calibrated; below it they are "
        "overconfident. Larger dots are more rows.</p></div></div>"
        f"<h3>By class</h3>{_per_class(evaluation)}"
    )


def _confusion(evaluation: Evaluation) -> str:
    kept, table, support = evaluation.confusion_of(MOST_CONFUSED)
    names = [_named(label) for label in kept]
    tilted = ' class="tilted"' if len(kept) > 3 and max(len(str(label)) for label in kept) > 6 else ""
    head = "".join(f'<th scope="col"{tilted}>{name}</th>' for name in names)
    lines = []
    for name, row, total in zip(names, table, support, strict=True):
        shades = [0 if not weight else min(4, 1 + int(4 * weight / total)) for weight in row]
        cells = "".join(f'<td class="s{s}">{amount(weight)}</td>' for s, weight in zip(shades, row, strict=True))
        lines.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    more = len(evaluation.classes) - len(kept)
    note = f"<p>The {len(kept)} most frequent classes; {plural(more, 'other')} not shown.</p>" if more else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="confusion matrix"><table class="confusion"><tr>'
        f"<td></td>{head}</tr>{''.join(lines)}</table></div>{note}"
    )


def _named(label: Level, most: int = 26) -> str:
    """A class in a narrow place; the title attribute has the full name."""
    name = str(label)
    if len(name) <= most:
        return escape(name)
    return f'<span title="{escape(name, quote=True)}">{escape(name[: most - 1])}…</span>'


def _per_class(evaluation: Evaluation) -> str:
    each = zip(
        evaluation.classes, evaluation.precision, evaluation.recall, evaluation.f1, evaluation.support, strict=True
    )
    rows = [
        (str(label), f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", amount(s)) for label, p, r, f, s in list(each)[:MOST_LISTED]
    ]
    return table("figures by class", ("class", "precision", "recall", "F1", "rows"), rows)


def _profiles(report: Report) -> str:
    cards = []
    for label, entries in list(report.class_profiles.items())[:60]:
        listed = "".join(f"<li>{escape(entry.text)}</li>" for entry in entries) or "<li>no characteristic value</li>"
        cards.append(f'<article class="card"><h3>{escape(str(label))}</h3><ul class="marks">{listed}</ul></article>')
    return f'<p>Values that are more frequent in a class than in others.</p><div class="grid">{"".join(cards)}</div>'


def _columns(report: Report) -> str:
    first = report.pictures[0]
    drawn = [report.classes[k] for k in svg.most_frequent(first)]
    more = len(report.classes) - len(drawn)
    note = f" Only the {len(drawn)} most frequent classes are drawn." if more else ""
    cards = [_card(picture) for picture in report.pictures[:MOST_PICTURES]]
    rest = "".join(cards[PER_PAGE:])
    left = len(report.pictures) - len(cards)
    beyond = f"<p>{plural(left, 'column')} that are less informative are not drawn.</p>" if left > 0 else ""
    return (
        "<p>The most informative columns first, by the mutual information with the class, in nats. Curves are the "
        f"fitted distributions, shaded areas are histograms of the data.{note}</p>{svg.legend(drawn)}"
        f'<div class="grid" id="pictures">{"".join(cards[:PER_PAGE])}</div>'
        f'<template id="more-pictures">{rest}</template><div class="pager" id="pictures-pager"></div>{beyond}'
    )


def _card(picture: ColumnPicture) -> str:
    facts = [f"{picture.information:.3f} nats", picture.family.replace("_", "-")]
    facts += [f"weight {picture.weight:.2f}"] if picture.weight != 1.0 else []
    facts += [f"{picture.missing:.1%} missing"] if picture.missing >= 0.0005 else []
    facts += ["×2: twice as often together as if they were independent"] if picture.kind == "pair" else []
    return (
        f'<article class="card"><h3>{escape(picture.column)}</h3><p class="soft">{escape(", ".join(facts))}</p>'
        f"{svg.column(picture)}</article>"
    )


def _training_data(report: Report) -> str:
    total = sum(report.rows) or 1.0
    classes = [
        (str(label), amount(weight), f"{weight / total:.1%}", f"{p:.4f}")
        for label, weight, p in list(zip(report.classes, report.rows, report.prior, strict=True))[:MOST_LISTED]
    ]
    by_name = {picture.column: picture for picture in report.pictures}
    columns = []
    for column in list(report.columns)[:MOST_LISTED]:
        found = by_name.get(column.name)
        missing = f"{found.missing:.1%}" if found is not None and found.kind != "pair" else ""
        nats = f"{found.information:.3f}" if found is not None else ""
        columns.append((column.name, column.kind, column.reason, missing, nats))
    more = len(report.columns) - len(columns)
    note = f"<p>{plural(more, 'column')} more.</p>" if more > 0 else ""
    settings = [(name, value) for name, value in report.settings.items()]
    return (
        f"<p>{plural(report.n_parameters, 'estimated parameter')}.</p><h3>Classes</h3>"
        f"{table('classes', ('class', 'rows', 'share', 'prior'), classes)}<h3>Columns</h3>"
        f"{table('columns', ('column', 'kind', 'reason', 'missing', 'nats'), columns, numbers=2)}{note}"
        f"<h3>Settings</h3>{table('settings', ('setting', 'value'), settings, numbers=0)}"
    )


def table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int | None = None) -> str:
    """A table; its last columns are numbers, by default all but the first."""
    n_text = 1 if numbers is None else len(head) - numbers

    def cells(tag: str, row: Sequence[str]) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        kinds = ("" if i < n_text else ' class="n"' for i in range(len(row)))
        return "".join(f"<{tag}{scope}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    tall = " tall" if len(rows) > 30 else ""
    broad = ' class="broad"' if any(len(cell) > 40 for row in rows for cell in row) else ""
    named = escape(name, quote=True)
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{named}"><table{broad}><thead><tr>'
        f"{cells('th', head)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
