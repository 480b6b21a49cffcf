"""A report as one self-contained page of HTML: styles, scripts and parameters are in it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tallybayes import __version__
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.schema import Column, Level, plural
from tallybayes.inspection.charts import ColumnPicture, Concern, EvidenceShape, Importance
from tallybayes.inspection.explain import ProfileEntry
from tallybayes.inspection.verdict import Verdict
from tallybayes.report.decisions import decisions
from tallybayes.report.sections import lead, sections

SCRIPTS = ("scorer.js", "page.js", "decisions.js", "whatif.js", "file.js")


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
    shapes : tuple of EvidenceShape
        The evidence of the values of each column.
    importance : Importance
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
    typical : optional
        Typical rows of each class, for the what-if form.
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
    shapes: tuple[EvidenceShape, ...]
    importance: Importance
    concerns: tuple[Concern, ...]
    class_profiles: dict[Level, tuple[ProfileEntry, ...]]
    evaluation: Evaluation | None
    settings: dict[str, str]
    n_parameters: int
    scorer: Any = None
    controls: Any = None
    n_learned: int | None = None
    verdict: Verdict | None = None
    typical: Any = None
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
            "shapes": [shape.as_dict() for shape in self.shapes],
            "importance": self.importance.as_dict(),
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
        found = [*sections(self, service)]
        links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in found)
        body = "".join(
            f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{content}</section>'
            for name, title, content in found
        )
        values = {
            "scorer": self.scorer,
            "controls": self.controls,
            "typical-rows": self.typical,
            "decisions": decisions(self.evaluation),
        }
        data = "".join(_data(name, value) for name, value in values.items())
        return (
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy(service is not None)}">'
            '<meta name="referrer" content="no-referrer">'
            f"<title>{escape(self.title)}</title><style>{asset('page.css')}</style></head>\n"
            '<body><a class="skip" href="#main">Skip to content</a>'
            f"<header><h1>{escape(self.title)}</h1>{lead(self)}"
            f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
            f'<main id="main">{body}</main>\n'
            f"<footer>Made by tallybayes {__version__}. This page loads nothing from the network.</footer>\n"
            f"{data}<script>{script()}</script></body></html>\n"
        )


def policy(service: bool = False) -> str:
    """What the page may load: its own style and script, by their hashes, and nothing else."""
    connect = "connect-src 'self'; " if service else ""
    return (
        f"default-src 'none'; script-src '{_hash(script())}'; style-src '{_hash(asset('page.css'))}'; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return (files("tallybayes") / "report" / name).read_text(encoding="utf-8").strip()


@cache
def script() -> str:
    """The script of the page."""
    return "\n".join(asset(name) for name in SCRIPTS)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(name: str, value: Any) -> str:
    """Values for the script; a tag in them could end the element, so there is none."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'
