"""A report as one self-contained page of HTML: styles, scripts and parameters are in it."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tallybayes import __version__
from tallybayes.report.assets import asset, policy, script
from tallybayes.report.content import Content
from tallybayes.report.decisions import decisions
from tallybayes.report.sections import lead, sections


class Report(Content):
    """A report on a model: its content, and the page."""

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


def _data(name: str, value: Any) -> str:
    """Values for the script; a tag in them could end the element, so there is none."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'
