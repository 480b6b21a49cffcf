"""The description of the API: schemas of bodies and responses, and plain pages that need no script."""

from __future__ import annotations

from copy import deepcopy
from html import escape
from typing import Any
from urllib.parse import quote

from tallybayes.core.schema import amount, plural
from tallybayes.report.assets import asset

CELL = {"type": ["string", "number", "boolean", "null"]}
ROW = {
    "type": "object",
    "additionalProperties": CELL,
    "description": "column → value; others are missing",
}
FORMS = {
    "row": ROW,
    "rows": {"type": "array", "items": ROW, "minItems": 1},
    "columns": {"type": "object", "additionalProperties": {"type": "array", "items": CELL}},
}
LABELS: dict[str, Any] = {
    "labels": {"type": ["array", "null"], "items": {"type": ["string", "number", "boolean"]}},
    "label": {"type": ["string", "number", "boolean"], "description": "of a single row"},
    "weight": {"type": ["array", "null"], "items": {"type": "number", "minimum": 0}},
}


def _body(more: dict[str, Any], csv: bool = False) -> dict[str, Any]:
    one_of = [
        {"type": "object", "properties": {name: form, **more}, "required": [name], "additionalProperties": False}
        for name, form in FORMS.items()
    ]
    content: dict[str, Any] = {"application/json": {"schema": {"oneOf": one_of}}}
    if csv:
        content["text/csv"] = {"schema": {"type": "string"}}
    return {"requestBody": {"required": True, "content": content}}


SHARE = {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1}
ASKED: dict[str, Any] = {
    "coverage": {**SHARE, "description": "prediction sets of which this share holds the right class"},
    "reasons": {"type": ["integer", "null"], "minimum": 1, "description": "reason codes: how many for each row"},
    "reference": {"description": "what rows are compared with: 'population', 'best' or a row"},
    "groups": {"type": "object", "description": "labels of reasons, each with its columns"},
    "label": {**CELL, "description": "the class whose score it is; of two, the second"},
}
BODY = _body(ASKED, csv=True)
COMPARED = _body({"against": {**CELL, "description": "the class to compare with; null: the next likeliest"}})
LABELLED = _body(LABELS)
CSV: dict[int | str, Any] = {200: {"content": {"application/json": {}, "text/csv": {}}}}
ERROR = {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
HEALTH: dict[int | str, Any] = {200: {"description": "the service is up; status is stale where a file cannot be read"}}
ERRORS: dict[int | str, Any] = {
    status: {"description": meaning, "content": {"application/json": {"schema": ERROR}}}
    for status, meaning in {
        400: "the body is not valid JSON",
        401: "a token is needed",
        404: "there is no such model",
        408: "the body took too long",
        409: "rows that were never learned",
        413: "the body is too large",
        415: "the content type is not supported",
        422: "the rows do not fit the model; the detail gives the reason",
        503: "too many large requests at once, or another process holds the file of the model; nothing was changed",
    }.items()
}


def with_names(schema: dict[str, Any], models: list[str], columns: list[str]) -> dict[str, Any]:
    """The schema with the names of the models and of their columns."""
    schema = deepcopy(schema)
    for verbs in schema["paths"].values():
        for about in verbs.values():
            for parameter in about.get("parameters", ()):
                if parameter["name"] == "name":
                    parameter["schema"] = {"type": "string", "enum": models}
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for form in body.get("oneOf", ()):
                for name, field in form["properties"].items():
                    if name in FORMS and columns:
                        (field["items"] if name == "rows" else field)["propertyNames"] = {"enum": columns}
    return schema


def _page(title: str, lead: str, content: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{asset('page.css')}</style></head><body><header><h1>{escape(title)}</h1>"
        f'<p class="lead">{lead}</p></header><main>{content}</main></body></html>'
    )


def index_page(models: list[dict[str, Any]]) -> str:
    """Links to the pages of the models."""
    cards = "".join(
        f'<article class="card"><h3><a href="/models/{quote(m["name"], safe="")}/what-if">{escape(m["name"])}</a></h3>'
        f"<p>{escape(', '.join(map(str, m['classes'][:8])))}{', …' if len(m['classes']) > 8 else ''}</p>"
        f'<p class="soft">{amount(m["rows"])} rows, {plural(m["n_columns"], "column")}</p></article>'
        for m in models
    )
    lead = 'Choose a model to see its page. Programs use <a href="/docs">the API</a>.'
    return _page("Models", lead, f'<section><div class="grid">{cards}</div></section>')


def docs_page(schema: dict[str, Any]) -> str:
    """The API for people, without a script from elsewhere."""
    parts = []
    for path, verbs in schema["paths"].items():
        for verb, about in verbs.items():
            rows = "".join(
                f"<tr><td>{code}</td><td>{escape(r.get('description', ''))}</td></tr>"
                for code, r in about["responses"].items()
            )
            parts.append(
                f"<section><h2><code>{verb.upper()} {escape(path)}</code></h2>"
                f'<p>{escape(about.get("description", ""))}</p><table><thead><tr><th scope="col">status</th>'
                f'<th scope="col">meaning</th></tr></thead><tbody>{rows}</tbody></table></section>'
            )
    example = (
        '<section><div class="scroll" tabindex="0" role="region" aria-label="example"><pre>'
        "curl localhost:8000/models/NAME/predict -H 'Content-Type: application/json' "
        '-d \'{"row": {"column": "value"}}\'</pre></div></section>'
    )
    lead = 'For programs: <a href="/openapi.json">openapi.json</a>. <a href="/">Back to the models</a>'
    return _page("API", lead, example + "".join(parts))
