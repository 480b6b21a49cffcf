"""Which message this is, however it was delivered, moved or marked since, and when it arrived.

A copy of a message in another folder has other ``Received``, status and verdict headers, and perhaps other line ends.
What its sender wrote is the same: the message-id, the sender and the date, and the body.
"""

from __future__ import annotations

import re
import time
from email.utils import mktime_tz, parsedate_tz
from hashlib import blake2b
from typing import NamedTuple

KEY_BYTES = 16
MOST_BODY = 1 << 18  # bytes of the body that count
MOST_HEAD = 1 << 18
HEAD_END = re.compile(rb"\r?\n\r?\n")
FOLDED = rb"(?im)^%s[ \t]*:((?:[^\n]|\n[ \t]){0,2000})"
OWN = [re.compile(FOLDED % name) for name in (b"message-id", b"from", b"date")]
OTHERS = [re.compile(FOLDED % name) for name in (b"subject", b"to")]  # what else there is without a message-id
RECEIVED, DATE = re.compile(FOLDED % b"received"), OWN[2]
FIRST_MAIL = 315_532_800.0  # 1980: what is older is a wrong clock
DAY = 86_400.0


class Identity(NamedTuple):
    """The key of a message, and when it arrived."""

    key: bytes
    time: float | None  # seconds since 1970; None where it has no date that can be

    def when(self, otherwise: float) -> float:
        """When it arrived, or another time where that is not known."""
        return otherwise if self.time is None else self.time


def identify(raw: bytes) -> Identity:
    """The identity of a message.

    Examples
    --------
    >>> sent = b"Message-ID: <1@example.com>\\nDate: Mon, 16 Nov 2026 03:00:00 +0000\\n\\nHello\\n"
    >>> marked = b"X-Tallybayes: ham 0.0\\r\\n" + sent.replace(b"\\n", b"\\r\\n") + b"\\r\\n"
    >>> identify(sent).key == identify(marked).key, identify(sent).key == identify(sent + b"!").key
    (True, False)
    """
    end = HEAD_END.search(raw[:MOST_HEAD])
    head, body = (raw[: end.start()], raw[end.end() :]) if end else (raw[:MOST_HEAD], b"")
    if head.startswith((b"\n", b"\r\n")):  # no headers at all
        head, body = b"", raw
    found = blake2b(digest_size=KEY_BYTES)
    for header in OWN if OWN[0].search(head) else [*OWN, *OTHERS]:
        value = header.search(head)
        found.update(b" ".join(value[1].split()) if value else b"")
        found.update(b"\0")
    text = body[: 2 * MOST_BODY].replace(b"\r\n", b"\n").replace(b"\n>From ", b"\nFrom ")
    found.update(text.strip(b"\n")[:MOST_BODY])
    return Identity(found.digest(), _arrived(head))


def _arrived(head: bytes) -> float | None:
    """When the last host received it, or the date that the sender wrote."""
    for header in (RECEIVED, DATE):
        value = header.search(head)
        if value is not None and (found := _seconds(value[1])) is not None:
            return found
    return None


def _seconds(value: bytes) -> float | None:
    text = b" ".join(value.rpartition(b";")[2].split()).decode("ascii", "replace")
    try:
        parsed = parsedate_tz(text[:100])
        seconds = None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return seconds if seconds is not None and FIRST_MAIL <= seconds <= time.time() + DAY else None
