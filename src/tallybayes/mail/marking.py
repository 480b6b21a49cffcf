"""A message with the verdict in its header, and every other byte as it was."""

from __future__ import annotations

import re

from tallybayes.mail.config import HEADER

HEADERS = re.compile(rb"\A(?:[^\r\n][^\n]*(?:\n|\Z))*")  # up to the empty line that ends them
EARLIER = rb"(?im)^%s[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)"  # a header with the lines that continue it
# Where the header goes: after the envelope line, and after lines that would otherwise continue it.
TOP = re.compile(rb"(?:>?From [^\n]*\n)?(?:[ \t][^\n]*\n)*")


def marked(raw: bytes, verdict: str, name: str = HEADER) -> bytes:
    """The message with the verdict in a header on top, after the envelope line of an mbox if there is one.

    Verdicts that are there already are taken out: the sender may have written them. Line ends are those of the message.

    Parameters
    ----------
    raw : bytes
    verdict : str
        ASCII, on one line.
    name : str
        Of the header.

    Returns
    -------
    bytes

    Examples
    --------
    >>> marked(b"Subject: hello\\r\\n\\r\\nHow are you?", "ham 0.0012")
    b'X-Tallybayes: ham 0.0012\\r\\nSubject: hello\\r\\n\\r\\nHow are you?'
    """
    end = HEADERS.match(raw).end()  # type: ignore[union-attr]  # it matches anything
    header = name.encode("ascii")
    head, rest = re.sub(EARLIER % re.escape(header), b"", raw[:end]), raw[end:]
    at = TOP.match(head).end()  # type: ignore[union-attr]
    line_end = b"\r\n" if b"\r\n" in raw[: raw.find(b"\n") + 1] else b"\n"
    return head[:at] + header + b": " + verdict.encode("ascii") + line_end + head[at:] + rest
