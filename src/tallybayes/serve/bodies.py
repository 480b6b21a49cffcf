"""The body of a request: read within limits, and parsed; responses as JSON or HTML."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import HTTPException

from tallybayes.report.page import policy


@dataclass(frozen=True)
class Limits:
    """Most that one request may send, and how long it may take."""

    bytes: int = 50_000_000
    rows: int = 100_000
    seconds: float = 30.0


def content_type(request: Request) -> str:
    """The type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read(request: Request, limits: Limits) -> bytes:
    """The body, if it is not too long and does not take too long."""
    too_large = HTTPException(413, f"the body is larger than {limits.bytes:,} bytes; send less at a time")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limits.bytes:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > limits.bytes:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"the body took longer than {limits.seconds:g} seconds") from None
    return b"".join(parts)


async def read_json(request: Request, limits: Limits) -> Any:
    """The body as a value."""
    content, kind = await read(request, limits), content_type(request)
    if kind != "application/json":
        raise HTTPException(415, f"the body must be application/json, not {kind or 'unnamed'}")
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"the body is not valid JSON: {error}") from None


def as_json(record: Any, status: int = 200) -> Response:
    """A record as JSON; what is infinite or not a number is null."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return Response(orjson.dumps(record, default=str, option=options), status, media_type="application/json")


def as_html(content: str, calls_service: bool = False) -> Response:
    """A page with its content security policy; one whose script calls the service may connect to it."""
    allowed = f"{policy(service=calls_service)}; frame-ancestors 'none'"
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": allowed})
