"""The application: the table of routes behind a guard."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import MethodType
from typing import Any

from fastapi import FastAPI, Request, Response

from tallybayes import __version__
from tallybayes.errors import TallybayesError, UnlearnError
from tallybayes.serve.bodies import Limits, as_json
from tallybayes.serve.describe import with_names
from tallybayes.serve.guard import LOOPBACK, Guard
from tallybayes.serve.routes import ROUTES, Handlers
from tallybayes.serve.store import Store
from tallybayes.storage.lock import LockedError

MOST_COLUMNS = 200  # that the description of the API names


def create_app(
    paths: Sequence[str | os.PathLike[str]],
    *,
    learn: bool = False,
    token: str | None = None,
    open_to: str = "127.0.0.1",
    max_bytes: int = 50_000_000,
    max_rows: int = 100_000,
    body_seconds: float = 30.0,
    safe_csv: bool = False,
    drift: bool = False,
) -> FastAPI:
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
        Most that one request may send; a body of JSON may have a tenth of the bytes.
    body_seconds : float
        How long the body of a request may take.
    safe_csv : bool
        Whether texts of CSV responses that begin like a formula get an apostrophe, for spreadsheets.
    drift : bool
        Whether the rows of predictions are counted, without keeping any, for ``GET /models/{name}/drift``.

    Returns
    -------
    ASGI application
    """
    is_local = open_to in LOOPBACK
    if not is_local and not token:
        raise TallybayesError(f"listening on {open_to} lets other machines ask: set a token (--token-file)")
    if learn and not token:
        raise TallybayesError("learning over the network needs a token (--token-file)")
    store = Store(paths)
    app = Service(store)
    app.add_middleware(Guard, token=None if is_local else token, hosts=LOOPBACK if is_local else None)
    app.add_exception_handler(TallybayesError, refusal)
    handlers = Handlers(store, Limits(max_bytes, max_rows, body_seconds), learn, token, app.openapi, safe_csv, drift)
    add_routes(app, handlers)
    return app


class Service(FastAPI):
    """An application whose description names the models that it serves, and their columns."""

    def __init__(self, store: Store) -> None:
        super().__init__(
            title="tallybayes",
            version=__version__,
            description="Naive Bayes you can audit: predictions with their evidence.",
            docs_url=None,
            redoc_url=None,
        )
        self.store = store

    def openapi(self) -> dict[str, Any]:
        """The description of the API."""
        schemas = [entry.loaded.model.schema for entry in self.store.entries.values()]
        few = max(len(schema.columns) for schema in schemas) <= MOST_COLUMNS
        names = {c.name for schema in schemas for c in schema.columns if not c.is_derived} if few else ()
        return with_names(super().openapi(), list(self.store.entries), sorted(names))


def add_routes(app: FastAPI, handlers: Handlers) -> None:
    """Add every line of the table of routes that is allowed."""
    for route in ROUTES:
        if (route.changes and not handlers.learn) or (route.counts and not handlers.drift):
            continue
        app.add_api_route(
            route.path,
            MethodType(route.handler, handlers),
            methods=[route.method],
            name=route.name,
            responses=dict(route.responses),
            openapi_extra=None if route.body is None else dict(route.body),
            include_in_schema=not route.is_page,
        )


async def refusal(_: Request, error: Exception) -> Response:
    """An error of the library in its own words: 409 where rows were never learned, 503 while others change the file."""
    status = 409 if isinstance(error, UnlearnError) else 503 if isinstance(error, LockedError) else 422
    return as_json({"detail": " ".join(str(error).split())}, status)
