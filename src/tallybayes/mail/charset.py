"""Bytes to text where the charset is missing, wrong or unknown."""

from __future__ import annotations

import codecs
import re
from email.errors import HeaderParseError
from email.header import decode_header

# Codecs that Python can decode with and that no mail is written in; some take time quadratic in the length.
NO_CHARSETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
SURROGATES = re.compile("[\ud800-\udfff]")


def decoded(data: bytes, charset: str | None = None) -> str:
    """Text of bytes: by their charset if that works, else as UTF-8, else as the charset of Western Windows.

    Parameters
    ----------
    data : bytes
    charset : str, optional
        The charset that the message declares; an unknown one is ignored.

    Returns
    -------
    str
        Never fails: undecodable bytes become U+FFFD.

    Examples
    --------
    >>> decoded(b"gr\\xc3\\xbcn", "DEFAULT_CHARSET"), decoded(b"gr\\xfcn")
    ('grün', 'grün')
    """
    for name in (known(charset), "utf-8"):
        try:
            if name is not None:
                text = data.decode(name)
                return text if text.isascii() else SURROGATES.sub("\ufffd", text)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def known(charset: str | None) -> str | None:
    """The name of a charset that text can be written in, or None."""
    try:
        found = codecs.lookup((charset or "").strip("\"' "))
    except (LookupError, ValueError):
        return None
    return found.name if found._is_text_encoding and found.name.replace("_", "-") not in NO_CHARSETS else None


def header_text(value: str) -> str:
    """A header as it is read: encoded words decoded (RFC 2047), raw bytes decoded as text.

    Parameters
    ----------
    value : str
        As the parser gives it: bytes that are not ASCII are lone surrogates.

    Examples
    --------
    >>> header_text("=?iso-8859-1?q?gr=FCn?= und =?nonsense?q?blau?=")
    'grün und blau'
    """
    if value.isascii() and "=?" not in value:
        return value
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        raw = value.encode("utf-8", "replace")
    if b"=?" not in raw:
        return decoded(raw)
    try:
        parts = decode_header(decoded(raw))
    except (HeaderParseError, ValueError, LookupError):
        return decoded(raw)
    return "".join(part if isinstance(part, str) else decoded(part, charset) for part, charset in parts)
