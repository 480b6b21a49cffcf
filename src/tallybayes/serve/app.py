"""The application: routes that parse, call the model and answer."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool

from tallybayes import __version__
from tallybayes.core.model import Model
from tallybayes.errors import TallybayesError, UnlearnError
from tallybayes.inspection.evaluate import score
from tallybayes.inspection.explain import explain, steps
from tallybayes.inspection.predictions import Answers, predict_file
from tallybayes.inspection.receipts import Receipt
from tallybayes.report.page import policy
from tallybayes.serve.describe import BODY, COMPARED, CSV, ERRORS, LABELLED, docs_page, index_page, with_names
from tallybayes.serve.guard import LOOPBACK, Guard, may
from tallybayes.serve.rows import batch_of, labelled_of, table_of
from tallybayes.serve.store import Entry, Loaded, Store

INLINE = 64  # rows that are scored without the detour over a thread
Call = Callable[[Loaded, Any], Any]


def create_app(
    paths: Sequence[str | os.PathLike[str]],
    *,
    learn: bool = False,
    token: str | None = None,
    open_to: str = "127.0.0.1",
    max_bytes: int = 50_000_000,
    max_rows: int = 100_000,
    body_seconds: float = 30.0,
) -> Any:
    """Make the ASGI application.

    Parameters
    ----------
    paths : sequence of path
        Model files; each is served under its name without ``.tally``.
    learn : bool
        Whether rows may be learned and unlearned; this needs a token.
    token : str, optional
        What a request has to bring as ``Authorization: Bearer …``: for learning, and for everything but ``/health``
        where others than this machine may ask.
    open_to : str
        The address that is listened on; a token is required for any but the loopback.
    max_bytes, max_rows : int
        Most that one request may send.
    body_seconds : float
        How long the body of a request may take.

    Returns
    -------
    ASGI application
    """
    alone = open_to in LOOPBACK
    if not alone and not token:
        raise TallybayesError(f"listening on {open_to} lets other machines ask: set a token (--token-file)")
    if learn and not token:
        raise TallybayesError("learning over the network needs a token (--token-file)")
    store = Store(paths)
    app = FastAPI(
        title="tallybayes",
        version=__version__,
        description="Naive Bayes you can audit: predictions with their evidence.",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard, token=None if alone else token, hosts=LOOPBACK if alone else None)

    def entry(name: str) -> Entry:
        if name not in store.entries:
            raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(store.entries)}")
        return store.entries[name]

    async def sent(request: Request) -> bytes:
        """The body, if it is not too long and does not take too long."""
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > max_bytes:
            raise HTTPException(413, f"the body is larger than {max_bytes:,} bytes; send less at a time")
        parts, size = [], 0
        try:
            async with asyncio.timeout(body_seconds):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    if size > max_bytes:
                        raise HTTPException(413, f"the body is larger than {max_bytes:,} bytes; send less at a time")
        except TimeoutError:
            raise HTTPException(408, f"the body took longer than {body_seconds:g} seconds") from None
        return b"".join(parts)

    def parsed(request: Request, body: bytes) -> Any:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, f"the body must be application/json, not {kind or 'unnamed'}")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise HTTPException(400, f"the body is no JSON: {error}") from None

    async def call(name: str, request: Request, work: Call) -> Response:
        """Read the body, do the work and answer its record."""
        found = entry(name)
        body = parsed(request, await sent(request))
        loaded = found.current()
        answer = await run_in_threadpool(work, loaded, body) if has_many(body) else work(loaded, body)
        return answer if isinstance(answer, Response) else told(answer)

    # ---------------------------------------------------------------------------------------- asking

    @app.get("/health", responses={200: {"description": "what is served, and whether it is what the files hold"}})
    async def health() -> Response:
        """Whether the service is up, and whether every model is the one in its file."""
        troubles = {name: e.trouble for name, e in store.entries.items() if e.trouble is not None}
        return told({"status": "ok" if not troubles else "stale", "version": __version__, "troubles": troubles})

    @app.get("/models")
    async def models() -> Response:
        """The models that are served."""
        return told({"models": [about(e) for e in store.entries.values()], "learn": learn})

    @app.get("/models/{name}/schema", responses=ERRORS)
    async def schema(name: str) -> Response:
        """Columns and classes: what a row may hold."""
        found = entry(name).current()
        return told({**about(entry(name)), "columns": columns_of(found.model)})

    @app.post("/models/{name}/predict", responses=ERRORS | CSV, openapi_extra=BODY)
    async def predict(name: str, request: Request) -> Response:
        """The likeliest class and the probabilities: of one row, of many, or of a CSV file."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/csv":
            found, body = entry(name), await sent(request)
            return await run_in_threadpool(scored_csv, found.current(), body, max_rows)
        return await call(name, request, lambda loaded, body: predicted(loaded.model, body, max_rows))

    @app.post("/models/{name}/explain", responses=ERRORS, openapi_extra=COMPARED)
    async def explanation(name: str, request: Request) -> Response:
        """The evidence of each column for the prediction of one row."""
        return await call(name, request, lambda loaded, body: explained(loaded.model, body))

    @app.post("/models/{name}/evaluate", responses=ERRORS, openapi_extra=LABELLED)
    async def evaluate(name: str, request: Request) -> Response:
        """How good the predictions of labelled rows are."""
        return await call(name, request, lambda loaded, body: evaluated(loaded.model, body, max_rows))

    if learn:
        assert token is not None
        add_learning(app, entry, sent, parsed, token, max_rows)

    # ---------------------------------------------------------------------------------------- pages

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        if len(store.entries) == 1:
            return page_of(next(iter(store.entries)))
        return html(index_page([about(e) for e in store.entries.values()]))

    @app.get("/models/{name}/what-if", include_in_schema=False)
    async def what_if(name: str) -> Response:
        entry(name)
        return await run_in_threadpool(page_of, name)

    def page_of(name: str) -> Response:
        content = store.entries[name].html(f"/models/{quote(name, safe='')}/predict")
        return html(content, asks=True)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return html(docs_page(app.openapi()))

    plain = app.openapi

    def named() -> dict[str, Any]:
        schemas = [e.loaded.model.schema for e in store.entries.values()]
        most = max(len(schema.columns) for schema in schemas)
        columns = sorted({c.name for s in schemas for c in s.columns if c.kind != "pair"}) if most <= 200 else []
        return with_names(plain(), list(store.entries), columns)

    app.openapi = named  # type: ignore[method-assign]

    @app.exception_handler(TallybayesError)
    async def wrong(_: Request, error: TallybayesError) -> Response:
        return told({"detail": " ".join(str(error).split())}, 409 if isinstance(error, UnlearnError) else 422)

    return app


def add_learning(app: Any, entry: Any, sent: Any, parsed: Any, token: str, max_rows: int) -> None:
    """Routes that change a model."""

    def change(verb: str) -> Callable[[str, Request], Awaitable[Response]]:
        async def route(name: str, request: Request) -> Response:
            if not may(request.headers.get("authorization", "").encode("latin-1", "replace"), token):
                raise HTTPException(
                    401, "learning needs the token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
                )
            found = entry(name)
            body = parsed(request, await sent(request))
            table, _ = table_of(body, max_rows, ("labels", "label", "weight"))
            work = {"update": updated, "unlearn": unlearned}[verb]
            return told(await run_in_threadpool(found.change, lambda loaded: work(loaded, table, body)))

        route.__doc__ = f"{verb.capitalize()} labelled rows; on the disk before it is answered."
        return route

    for verb in ("update", "unlearn"):
        app.post(f"/models/{{name}}/{verb}", responses=ERRORS, openapi_extra=LABELLED, name=verb)(change(verb))


# ------------------------------------------------------------------------------------------ answers


def told(record: Any, status: int = 200) -> Response:
    """A record as JSON; what is infinite or not a number is null."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return Response(orjson.dumps(record, default=str, option=options), status, media_type="application/json")


def html(content: str, asks: bool = False) -> Response:
    """A page, with what it may load; one with a script that asks the service may do that, too."""
    allowed = f"{policy(service=asks)}; frame-ancestors 'none'"
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": allowed})


def has_many(body: Any) -> bool:
    """Whether a body, not yet checked, may hold so many rows that others should not wait for them."""
    rows = body.get("rows") if isinstance(body, dict) else None
    return (isinstance(body, dict) and "columns" in body) or (isinstance(rows, list) and len(rows) > INLINE)


def about(entry: Entry) -> dict[str, Any]:
    """A model in a few words."""
    model = entry.current().model
    return {
        "name": entry.name,
        "target": entry.loaded.target,
        "classes": list(model.schema.classes),
        "n_columns": sum(column.kind != "pair" for column in model.schema.columns),
        "rows": float(model.tally.class_weight.sum()),
    }


def columns_of(model: Model, most: int = 1000) -> list[dict[str, Any]]:
    """The columns that a row may have, with the first of their levels."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "why": column.reason,
            "levels": None if column.levels is None else list(column.levels[:most]),
        }
        for column in model.schema.columns
        if column.kind != "pair"
    ]


def predicted(model: Model, body: Any, max_rows: int) -> Any:
    """The answer for a row or for many."""
    table, single = table_of(body, max_rows)
    posterior = model.posterior(batch_of(model, table))
    classes = answered_classes(model)
    best = posterior.argmax(axis=1).tolist()
    if single:
        chances = dict(zip(map(str, classes), posterior[0].tolist(), strict=True))
        return {"prediction": classes[best[0]], "probabilities": chances}
    return {
        "classes": list(classes),
        "predictions": [classes[k] for k in best],
        "probabilities": np.ascontiguousarray(posterior),
    }


def answered_classes(model: Model) -> tuple[Any, ...]:
    """The labels of the probabilities: components of one class answer together."""
    group = getattr(model.settings.calibration, "group", None)
    if group is None:
        return model.schema.classes
    labels = {k: c[0] for c, k in zip(model.schema.classes, group, strict=True)}  # type: ignore[index]
    return tuple(labels[k] for k in range(len(labels)))


def explained(model: Model, body: Any) -> Any:
    """The evidence for one row, and the calculation."""
    table, _ = table_of(body, 1, ("against",))
    batch, values = batch_of(model, table), table.row(0)
    against = body.get("against")
    if against is not None and not isinstance(against, (str, int, float, bool)):
        raise HTTPException(422, "'against' must be a class")
    record = explain(model, batch, values, against).as_dict()
    worked = [{"what": s.what, "factors": s.factors, "logs": s.logs} for s in steps(model, batch, values)]
    return record | {"work": worked}


def evaluated(model: Model, body: Any, max_rows: int) -> Any:
    """Figures of merit on labelled rows."""
    table, _ = table_of(body, max_rows, ("labels", "label", "weight"))
    batch = labelled_of(model, table, body, learning=False)
    assert batch.labels is not None
    assert batch.labels.codes is not None
    logs = model.log_posterior(batch)
    return score(logs, batch.labels.codes, answered_classes(model), batch.labels.weight).as_dict()


def scored_csv(loaded: Loaded, body: bytes, max_rows: int) -> Response:
    """A CSV file with the predictions beside its rows; it is written to a place of our own and nowhere else."""
    if body.count(b"\n") > max_rows + 1:
        raise HTTPException(413, f"more than {max_rows:,} rows; send fewer at a time")
    with tempfile.TemporaryDirectory() as directory:
        source, out = Path(directory, "rows.csv"), Path(directory, "predicted.csv")
        source.write_bytes(body)
        try:
            n = predict_file(loaded.model, source, out, Answers())
        except TallybayesError as error:
            text = " ".join(str(error).replace(str(source), "the file").split())
            raise HTTPException(422, text) from None
        return Response(out.read_bytes(), media_type="text/csv", headers={"X-Rows": str(n)})


def updated(loaded: Loaded, table: Any, body: Any) -> tuple[Model, Any]:
    """The model that has also seen the rows."""
    batch = labelled_of(loaded.model, table, body, learning=True)
    model = loaded.model.learn(batch)
    return model, {"rows": table.n_rows, "tally": repr(model.tally)}


def unlearned(loaded: Loaded, table: Any, body: Any) -> tuple[Model, Any]:
    """The model that never saw the rows, with a receipt."""
    batch = labelled_of(loaded.model, table, body, learning=False)
    model = loaded.model.unlearn(batch).trimmed()
    if not model.tally.class_weight.any():
        raise UnlearnError("nothing would be left of the model")
    assert batch.labels is not None
    return model, Receipt.of(batch.labels, loaded.model.tally, model.tally).as_dict()
