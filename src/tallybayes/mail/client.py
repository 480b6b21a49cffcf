"""Ask a running server for a verdict. Few imports: this is all that a delivery loads where there is a server.

A request is one line of JSON and then the bytes of the message; the answer is one line of JSON.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

WAIT = 5.0  # seconds after which a delivery does the work itself
MOST_BYTES = 1 << 20  # of a message that are sent: more is not read
MOST_LINE = 1 << 16


def is_trusted(path: str, database: str | os.PathLike[str]) -> bool:
    """Whether a path is a socket of somebody whom the user trusts: the user, root, or the owner of the database."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    trusted = {0, os.geteuid()}
    with suppress(OSError):
        trusted.add(os.stat(database).st_uid)
    return stat.S_ISSOCK(found.st_mode) and found.st_uid in trusted


def ask(path: str, request: Mapping[str, Any], raw: bytes, wait: float = WAIT) -> dict[str, Any] | None:
    """The answer of the server, or None where it does not give one in time."""
    sent = raw[:MOST_BYTES]
    until = time.monotonic() + wait
    line = json.dumps({**request, "size": len(sent)}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(wait)
            connection.connect(path)
            connection.sendall(line + sent)
            answer = b""
            while not answer.endswith(b"\n") and len(answer) < MOST_LINE:
                connection.settimeout(max(until - time.monotonic(), 0.001))
                part = connection.recv(1 << 16)
                if not part:
                    return None
                answer += part
        found = json.loads(answer)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "error" not in found else None
