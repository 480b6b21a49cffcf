"""The routes of the service in one table, `ROUTES`, and the `Handlers` that they call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool

from tallybayes import __version__
from tallybayes.core.model import Model
from tallybayes.serve import operations
from tallybayes.serve.bodies import (
    MOST_EXPLAINED,
    SMALL,
    Counter,
    Limits,
    as_html,
    as_json,
    check_type,
    content_type,
    parsed,
)
from tallybayes.serve.describe import BODY, COMPARED, CSV, ERRORS, HEALTH, LABELLED, docs_page, index_page
from tallybayes.serve.guard import has_token
from tallybayes.serve.served import Served
from tallybayes.serve.store import Entry, Store


@dataclass(frozen=True)
class Handlers:
    """What the routes do; holds the models and the limits."""

    store: Store
    limits: Limits = field(default_factory=Limits)
    learn: bool = False
    token: str | None = None  # what learning needs
    openapi: Callable[[], dict[str, Any]] = dict  # the description of the API, for its page
    safe_csv: bool = False
    drift: bool = False  # whether rows of predictions are counted
    served: dict[str, Served] = field(default_factory=dict)
    large: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "large"))  # large requests, one by one

    def entry(self, name: str) -> Entry:
        """The model of that name."""
        entries = self.store.entries
        if name not in entries:
            raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(entries)}")
        return entries[name]

    async def _run(
        self, entry: Entry, request: Request, work: Callable[[bytes], Response], most: int | None = None
    ) -> Response:
        """Read the body and do the work on a thread; large ones wait for each other, small ones do not for them."""
        kind, limits = content_type(request), self.limits
        most = min(limits.bytes if kind == "text/csv" else limits.json_bytes, most or limits.bytes)
        counter = Counter(limits, len(entry.loaded.model.schema.columns), kind, most)
        async with limits.room.body(request, counter) as content:
            if len(content) <= SMALL:
                return await run_in_threadpool(work, content)
            return await asyncio.get_running_loop().run_in_executor(self.large, work, content)

    async def _answer(
        self, name: str, request: Request, work: Callable[[Model, Any], Any], most: int | None = None
    ) -> Response:
        """Return the record that the work makes of the body."""
        entry = self.entry(name)
        check_type(request)
        return await self._run(
            entry, request, lambda content: as_json(work(entry.current().model, parsed(content))), most
        )

    async def _change(self, name: str, request: Request, work: Callable[[Model, Any, int], Any]) -> Response:
        """Replace a model by the one that the work makes of it and of labelled rows."""
        header = request.headers.get("authorization", "").encode("latin-1", "replace")
        if self.token is None or not has_token(header, self.token):
            needed = "learning needs the token: Authorization: Bearer …"
            raise HTTPException(401, needed, {"WWW-Authenticate": "Bearer"})
        entry = self.entry(name)
        check_type(request)

        def change(content: bytes) -> Response:
            body = parsed(content)
            return as_json(entry.change(lambda model: work(model, body, self.limits.rows)))

        return await self._run(entry, request, change)

    # ---------------------------------------------------------------------------------------- the API

    async def health(self) -> Response:
        """Whether the service is up, and whether every model is the one in its file."""
        troubles = await run_in_threadpool(self.store.troubles)
        return as_json({"status": "ok" if not troubles else "stale", "version": __version__, "troubles": troubles})

    async def models(self) -> Response:
        """The models that are served."""
        return as_json({"models": await run_in_threadpool(self._summaries), "learn": self.learn})

    async def schema(self, name: str) -> Response:
        """Columns and classes, which a row may contain, and the performance that was measured in training."""
        return await run_in_threadpool(lambda entry: as_json(operations.described(entry)), self.entry(name))

    async def predict(self, name: str, request: Request) -> Response:
        """The likeliest class and the probabilities: of one row, of many, or of a CSV file."""
        served = self.served.setdefault(name, Served()) if self.drift and name in self.store.entries else None
        if content_type(request) != "text/csv":
            return await self._answer(
                name, request, lambda m, body: operations.predict(m, body, self.limits.rows, served)
            )
        entry = self.entry(name)

        def predict(content: bytes) -> Response:
            predicted, n_rows = operations.predict_csv(entry.current().model, content, self.safe_csv, served)
            return Response(predicted, media_type="text/csv", headers={"X-Rows": str(n_rows)})

        return await self._run(entry, request, predict)

    async def drifted(self, name: str) -> Response:
        """How the rows that were served differ from those that the model learned; they are counted, not kept."""
        entry, served = self.entry(name), self.served.get(name, Served())
        return await run_in_threadpool(lambda: as_json(served.record(entry.current().model)))

    async def explanation(self, name: str, request: Request) -> Response:
        """The evidence of each column for the prediction of one row."""
        return await self._answer(name, request, operations.explanation, MOST_EXPLAINED)

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
        return await run_in_threadpool(lambda: as_html(index_page(self._summaries())))

    def _summaries(self) -> list[dict[str, Any]]:
        return [*map(operations.summary, self.store.entries.values())]

    async def what_if(self, name: str) -> Response:
        """The page of a model."""
        page = await run_in_threadpool(self.entry(name).html, f"/models/{quote(name, safe='')}/predict")
        return as_html(page, calls_service=True)

    async def docs(self) -> Response:
        """The API for people."""
        return await run_in_threadpool(lambda: as_html(docs_page(self.openapi())))


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
    counts: bool = False  # only where rows of predictions are counted

    @property
    def name(self) -> str:
        """The name of the handler."""
        return self.handler.__name__


ROUTES = (
    Route("GET", "/health", Handlers.health, HEALTH),
    Route("GET", "/models", Handlers.models),
    Route("GET", "/models/{name}/schema", Handlers.schema, ERRORS),
    Route("POST", "/models/{name}/predict", Handlers.predict, ERRORS | CSV, BODY),
    Route("GET", "/models/{name}/drift", Handlers.drifted, ERRORS, counts=True),
    Route("POST", "/models/{name}/explain", Handlers.explanation, ERRORS, COMPARED),
    Route("POST", "/models/{name}/evaluate", Handlers.evaluate, ERRORS, LABELLED),
    Route("POST", "/models/{name}/update", Handlers.update, ERRORS, LABELLED, changes=True),
    Route("POST", "/models/{name}/unlearn", Handlers.unlearn, ERRORS, LABELLED, changes=True),
    Route("GET", "/", Handlers.index, is_page=True),
    Route("GET", "/models/{name}/what-if", Handlers.what_if, is_page=True),
    Route("GET", "/docs", Handlers.docs, is_page=True),
)
