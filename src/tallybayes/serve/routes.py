"""The routes of the service in one table, `ROUTES`, and the `Handlers` that they call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool

from tallybayes import __version__
from tallybayes.core.model import Model
from tallybayes.serve import operations
from tallybayes.serve.bodies import Limits, as_html, as_json, content_type, read, read_json
from tallybayes.serve.describe import BODY, COMPARED, CSV, ERRORS, HEALTH, LABELLED, docs_page, index_page
from tallybayes.serve.guard import has_token
from tallybayes.serve.rows import table_of
from tallybayes.serve.store import Entry, Store

INLINE = 64  # rows that are scored without the detour over a thread


@dataclass(frozen=True)
class Handlers:
    """What the routes do; holds the models and the limits."""

    store: Store
    limits: Limits = field(default_factory=Limits)
    learn: bool = False
    token: str | None = None  # what learning needs
    openapi: Callable[[], dict[str, Any]] = dict  # the description of the API, for its page

    def entry(self, name: str) -> Entry:
        """The model of that name."""
        entries = self.store.entries
        if name not in entries:
            raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(entries)}")
        return entries[name]

    async def _answer(self, name: str, request: Request, work: Callable[[Model, Any], Any]) -> Response:
        """Read the body and return the record that the work makes of it; many rows are scored on a thread."""
        entry = self.entry(name)
        body = await read_json(request, self.limits)
        model = entry.current().model
        return as_json(await run_in_threadpool(work, model, body) if is_large(body) else work(model, body))

    async def _change(self, name: str, request: Request, work: Callable[[Model, Any, Any], Any]) -> Response:
        """Replace a model by the one that the work makes of it and of labelled rows."""
        header = request.headers.get("authorization", "").encode("latin-1", "replace")
        if self.token is None or not has_token(header, self.token):
            needed = "learning needs the token: Authorization: Bearer …"
            raise HTTPException(401, needed, {"WWW-Authenticate": "Bearer"})
        entry = self.entry(name)
        body = await read_json(request, self.limits)
        table, _ = table_of(body, self.limits.rows, operations.LABELLED)
        return as_json(await run_in_threadpool(entry.change, lambda model: work(model, table, body)))

    # ---------------------------------------------------------------------------------------- the API

    async def health(self) -> Response:
        """Whether the service is up, and whether every model is the one in its file."""
        troubles = {name: e.trouble for name, e in self.store.entries.items() if e.trouble is not None}
        return as_json({"status": "ok" if not troubles else "stale", "version": __version__, "troubles": troubles})

    async def models(self) -> Response:
        """The models that are served."""
        return as_json({"models": [*map(operations.summary, self.store.entries.values())], "learn": self.learn})

    async def schema(self, name: str) -> Response:
        """Columns and classes, which a row may contain, and the performance that was measured in training."""
        entry = self.entry(name)
        model = entry.current().model
        record = {**operations.summary(entry), **operations.figures(model), "columns": operations.columns(model)}
        return as_json(record)

    async def predict(self, name: str, request: Request) -> Response:
        """The likeliest class and the probabilities: of one row, of many, or of a CSV file."""
        if content_type(request) != "text/csv":
            return await self._answer(name, request, lambda m, body: operations.predict(m, body, self.limits.rows))
        entry, content = self.entry(name), await read(request, self.limits)
        if content.count(b"\n") > self.limits.rows + 1:
            raise HTTPException(413, f"more than {self.limits.rows:,} rows; send fewer at a time")
        predicted, n_rows = await run_in_threadpool(operations.predict_csv, entry.current().model, content)
        return Response(predicted, media_type="text/csv", headers={"X-Rows": str(n_rows)})

    async def explanation(self, name: str, request: Request) -> Response:
        """The evidence of each column for the prediction of one row."""
        return await self._answer(name, request, operations.explanation)

    async def evaluate(self, name: str, request: Request) -> Response:
        """The performance of the model on labelled rows; of those it learned, all of them, without their part in it."""
        return await self._answer(name, request, lambda m, body: operations.evaluation(m, body, self.limits.rows))

    async def update(self, name: str, request: Request) -> Response:
        """Learn labelled rows; they are on the disk before the service answers."""
        return await self._change(name, request, operations.update)

    async def unlearn(self, name: str, request: Request) -> Response:
        """Unlearn labelled rows; the model is on the disk before the service answers."""
        return await self._change(name, request, operations.unlearn)

    # ---------------------------------------------------------------------------------------- pages

    async def index(self) -> Response:
        """The page of the only model, or links to those of all."""
        if len(self.store.entries) == 1:
            return await self.what_if(*self.store.entries)
        return as_html(index_page([*map(operations.summary, self.store.entries.values())]))

    async def what_if(self, name: str) -> Response:
        """The page of a model."""
        page = await run_in_threadpool(self.entry(name).html, f"/models/{quote(name, safe='')}/predict")
        return as_html(page, calls_service=True)

    async def docs(self) -> Response:
        """The API for people."""
        return as_html(docs_page(self.openapi()))


@dataclass(frozen=True)
class Route:
    """One line of the table of routes."""

    method: str
    path: str
    handler: Callable[..., Awaitable[Response]]  # a method of `Handlers`; its docstring is the documentation
    responses: Mapping[int | str, Any] = field(default_factory=dict)  # by status
    body: Mapping[str, Any] | None = None
    is_page: bool = False  # for people, not part of the API
    changes: bool = False  # a model; only where learning is allowed

    @property
    def name(self) -> str:
        """The name of the handler."""
        return self.handler.__name__


ROUTES = (
    Route("GET", "/health", Handlers.health, HEALTH),
    Route("GET", "/models", Handlers.models),
    Route("GET", "/models/{name}/schema", Handlers.schema, ERRORS),
    Route("POST", "/models/{name}/predict", Handlers.predict, ERRORS | CSV, BODY),
    Route("POST", "/models/{name}/explain", Handlers.explanation, ERRORS, COMPARED),
    Route("POST", "/models/{name}/evaluate", Handlers.evaluate, ERRORS, LABELLED),
    Route("POST", "/models/{name}/update", Handlers.update, ERRORS, LABELLED, changes=True),
    Route("POST", "/models/{name}/unlearn", Handlers.unlearn, ERRORS, LABELLED, changes=True),
    Route("GET", "/", Handlers.index, is_page=True),
    Route("GET", "/models/{name}/what-if", Handlers.what_if, is_page=True),
    Route("GET", "/docs", Handlers.docs, is_page=True),
)


def is_large(body: Any) -> bool:
    """Whether a body, not yet checked, may have so many rows that other requests should not wait for them."""
    rows = body.get("rows") if isinstance(body, dict) else None
    return (isinstance(body, dict) and "columns" in body) or (isinstance(rows, list) and len(rows) > INLINE)
