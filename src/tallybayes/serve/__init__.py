"""Models as a service: a page and a JSON API over HTTP (the extra ``serve``). Parse, call, return the record."""

from __future__ import annotations

from typing import Any

from tallybayes.errors import needs

__all__ = ["create_app"]


def create_app(*args: Any, **options: Any) -> Any:
    """Make the ASGI application; see `tallybayes.serve.app.create_app`."""
    for library in ("fastapi", "orjson", "uvicorn"):
        needs(library, "serve")
    from tallybayes.serve.app import create_app as make

    return make(*args, **options)
