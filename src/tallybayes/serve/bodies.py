"""The body of a request: read within limits, and parsed; responses as JSON or HTML."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tallybayes.report.assets import policy

SMALL = 1 << 16  # bytes of a body that is read whatever else is being read
MOST_ROW = 1_000_000  # bytes of a body with a single row
MOST_EXPLAINED = 100_000  # bytes of a row that is explained, word by word
SPARE = 1000  # brackets, commas and colons beyond those of rows
WIDTH = 16  # bytes of text for each of them, at least on average
SINGLE = re.compile(rb'\s*\{\s*"row"\s*:')
CLOSE = {"Connection": "close"}  # the rest of such a body is not waited for


@dataclass(frozen=True)
class Limits:
    """Most that one request may send, and how long it may take."""

    bytes: int = 50_000_000
    rows: int = 100_000
    seconds: float = 30.0

    @cached_property
    def room(self) -> Room:
        """The memory for all bodies."""
        return Room(2 * self.bytes)

    @property
    def json_bytes(self) -> int:
        """Bytes of a body of JSON, which is parsed in one go: meanwhile everybody waits."""
        return max(self.bytes // 10, min(self.bytes, SMALL))


class Counter:
    """Counts what a body holds as it comes: one that cannot be rows of so many columns is not read to its end."""

    def __init__(self, limits: Limits, n_columns: int, kind: str, most: int) -> None:
        self.limits, self.n_columns, self.most = limits, n_columns, most
        self.is_csv = kind == "text/csv"
        self.size = self.lines = self.brackets = self.colons = self.commas = 0
        self.last = b""

    def add(self, part: bytes) -> None:
        """Count a piece, or refuse the body."""
        if not self.size and not self.is_csv and SINGLE.match(part):
            self.most = min(self.most, MOST_ROW)
        self.size += len(part)
        self.check_size(self.size)
        (self._count_lines if self.is_csv else self._count_values)(part)
        self.last = part[-1:]

    def check_size(self, size: int) -> None:
        """Refuse a body of more bytes than are allowed."""
        if size > self.most:
            raise HTTPException(413, f"the body is larger than {self.most:,} bytes; send less at a time", CLOSE)

    def _count_lines(self, part: bytes) -> None:
        both = part.count(b"\r\n") + (self.last == b"\r" and part[:1] == b"\n")
        self.lines += part.count(b"\n") + part.count(b"\r") - both
        if self.lines > self.limits.rows + 1:
            raise self._too_many_rows()

    def _count_values(self, part: bytes) -> None:
        self.brackets += part.count(b"{") + part.count(b"[")
        self.commas, self.colons = self.commas + part.count(b","), self.colons + part.count(b":")
        spare = SPARE + self.size // WIDTH  # those in texts
        rows, columns = self.limits.rows, max(self.n_columns, 1)
        if self.brackets > rows + columns + spare or self.commas > rows * columns + spare:
            raise self._too_many_rows()
        if self.colons > self.n_columns * self.brackets + spare:
            raise HTTPException(413, f"more keys than the {self.n_columns:,} columns of the model have", CLOSE)

    def _too_many_rows(self) -> HTTPException:
        return HTTPException(413, f"more than {self.limits.rows:,} rows; send fewer at a time", CLOSE)


class Room:
    """The memory that the bodies of all requests may take together."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    @asynccontextmanager
    async def body(self, request: Request, counter: Counter) -> AsyncIterator[bytes]:
        """The body, if it is not too long, does not take too long and there is room for it."""
        length, parts, seconds = request.headers.get("content-length", "0"), [], counter.limits.seconds
        counter.check_size(int(length) if length.isdecimal() and len(length) < 19 else counter.most + 1)
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    self.taken += len(part)
                    parts.append(part)
                    counter.add(part)
                    if counter.size > SMALL and self.taken > self.most:
                        later = {"Retry-After": "5", **CLOSE}
                        raise HTTPException(503, "too many large requests at once; try again", later)
            yield b"".join(parts)
        except TimeoutError:
            raise HTTPException(408, f"the body took longer than {seconds:g} seconds", CLOSE) from None
        except ClientDisconnect:
            raise HTTPException(400, "the body ended too early") from None  # which nobody reads
        finally:
            self.taken -= counter.size


def content_type(request: Request) -> str:
    """The type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_type(request: Request) -> None:
    """Refuse a body that is not JSON."""
    if (kind := content_type(request)) != "application/json":
        raise HTTPException(415, f"the body must be application/json, not {kind or 'unnamed'}")


def parsed(content: bytes) -> Any:
    """The value of a body."""
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
