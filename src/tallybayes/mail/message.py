"""A message as the tokens that a filter counts: bytes → parts → tokens.

Tokens of a header carry its name (``subject:free``), so that a word in the subject and the same word in the text are
different evidence. A malformed message is no error: it is read as far as possible, and no part of it is fetched,
opened or run. The limits bound the time that any message can take, however it was made.
"""

from __future__ import annotations

import base64
import email
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from email._policybase import Compat32
from email.message import Message
from email.parser import BytesHeaderParser
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from tallybayes._native import TokenBag  # not by way of kernels: processes that only read need no NumPy
from tallybayes.errors import TallybayesError
from tallybayes.mail.charset import decoded, header_text
from tallybayes.mail.html import read_html

MOST_BYTES = 1 << 20  # of a message that are read: an attachment of 50 MB adds no more than its beginning
MOST_LINES = 20_000
MOST_PARTS = 100
MOST_DEPTH = 10  # parts in parts that are read without the parser
MOST_NESTED = 50  # mentions of multipart types: the parser's time grows with the depth times the lines
MOST_TEXT = 1 << 18  # characters that are read, in all parts together
MOST_HEADERS = 200
LONGEST_NAME = 60  # characters of a header's name
LONGEST_HEADER = 2000  # characters
LONGEST_LIST = 80  # characters of the types of all parts
LONGEST_CODE = 24  # characters of a charset, an encoding or a message's number that count

PAGE = re.compile(r"\s{0,100}<(?:!doctype|html)\b", re.IGNORECASE)

# A text that is all base64, though nothing says so: bodies that lost their headers.
BASE64 = re.compile(r"\s{0,100}(?:[A-Za-z0-9+/]{60,76}\r?\n){2,}+(?:[A-Za-z0-9+/]{1,76}={0,2})?\s{0,100}")
ENCODING = "content-transfer-encoding"
HEADERS_END = re.compile(rb"\n\r?\n")
HEADER = re.compile(r"^([!-9;-~]+):[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)\n", re.MULTILINE)

# Dates, codes and fixed phrases: their values never recur or are no evidence, but their presence is a token.
MERE_NAMES = re.compile(
    r"lines|content-length|content-type|content-disposition|status|thread-index|mime-version|.*date|"
    r"(?:x-google-)?dkim-signature|domainkey-signature|arc-.*|authentication-results|received-spf|"
    r"x-antiabuse|x-authentication-warning"
)
# What another filter found is that filter's verdict, not evidence. A mailing list writes the same dozen
# headers on all its messages: its name is enough, and the others would drown out the message.
NO_EVIDENCE = re.compile(
    r"x-(?:tallybayes|bogosity|spam|spambayes|virus|dspam|crm114|rspamd|uidl|keywords|mozilla|status|pstn|ironport)|"
    r"list-(?!id)|x-list|x-loop|x-beenthere|x-mailman|errors-to"
)

# What the parser raises on messages that are made to break it, and on some that are not.
BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def tokens(raw: bytes) -> list[str]:
    """The different tokens of a message, in the order in which they first occur.

    Parameters
    ----------
    raw : bytes
        The message as it is delivered, headers first.

    Returns
    -------
    list of str

    Examples
    --------
    >>> tokens(b"Subject: Free offer!\\nFrom: Ann <ann@mail.example.com>\\n\\nBuy now: http://shop.example.net/x")
    ['header:subject', 'subject:free', 'subject:offer', 'subject:!', 'header:from', 'from:ann@mail.example.com',
     'from:mail.example.com', 'from:example.com', 'from:.com', 'from:ann', 'type:text/plain', 'link:http',
     'link:shop.example.net', 'link:example.net', 'link:.net', 'buy', 'now', 'http', 'x', 'parts:text/plain',
     'text:capitals-0', 'text:exclamations-0', 'text:not-quoted']
    """
    return document(raw).split("\n")


def document(raw: bytes) -> str:
    """The tokens of a message, one a line: what the model counts."""
    return read(raw).document


class Reading(NamedTuple):
    """The tokens of a message, one a line, and why it could not be read as one, if so."""

    document: str
    trouble: str = ""


def read(raw: bytes) -> Reading:
    """Read a message; one that defeats the reader is the words of its bytes, so that it stops no run."""
    try:
        return Reading(_document(raw))
    except TallybayesError:  # something is not installed
        raise
    except Exception as error:
        bag = TokenBag()
        bag.add(["type:unreadable"])
        bag.add_text(decoded(raw[:MOST_TEXT]), [])
        return Reading(bag.document(), f"read as plain text: {type(error).__name__}: {error}")


def _document(raw: bytes) -> str:
    headers, message = parsed(raw)
    bag = TokenBag()
    for name, value in islice(headers, MOST_HEADERS):
        if read_as := _read_as(name[:LONGEST_NAME]):
            bag.add_header(*read_as, header_text(value[:LONGEST_HEADER]))
    kinds = list[str]()
    for part in parts(message):
        kinds.append(part.kind)
        _add_part(bag, part)
        for name, value in part.headers:  # of a message that was forwarded
            if read_as := _read_as(name[:LONGEST_NAME]):
                bag.add_header(*read_as, header_text(value[:LONGEST_HEADER]))
        if part.text:
            _add_text(bag, part)
    bag.add([f"parts:{','.join(kinds)[:LONGEST_LIST]}"])
    bag.add_form()
    return bag.document()


# ---------------------------------------------------------------------------------------------- parts


class Parsed(NamedTuple):
    """A message: its headers, and the tree of its parts."""

    headers: list[tuple[str, str]]
    message: Message


def parsed(raw: bytes) -> Parsed:
    """Split a message into its parts; one that would break the parser is headers and one text."""
    raw = _beginning(raw)
    with suppress(*BROKEN):
        if found := well_formed(raw):
            return found
    message = by_parser(raw)
    return Parsed([(name, str(value)) for name, value in message.raw_items()], message)


class Shortened(Compat32):
    """The parser's classic policy, which leaves headers as they are, but for their length.

    The newer policies parse them by grammar, which takes ten times as long and raises on charsets and addresses that
    real mail has. The time to read parameters and encoded words grows with the square of their number.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """The name and the beginning of the value of a header."""
        name, value = super().header_source_parse(sourcelines)
        return name[:LONGEST_HEADER], value[:LONGEST_HEADER]


def by_parser(raw: bytes) -> Message:
    """The tree of a message by the standard parser."""
    with suppress(*BROKEN):
        if len(re.findall(rb"(?i)multipart/", raw)) <= MOST_NESTED:
            return email.message_from_bytes(raw, policy=Shortened())
    with suppress(*BROKEN):
        return BytesHeaderParser(policy=Shortened()).parsebytes(raw)
    message = Message()
    message.set_payload(raw.decode("ascii", "surrogateescape"))
    return message


def well_formed(raw: bytes, depth: int = 0) -> Parsed | None:
    """The tree of a well-formed message, as most are, without the standard parser; None where that is needed.

    Each part keeps only the headers that describe it: every lookup goes through all of them.
    """
    lines = b"\n" + raw  # a part that has no headers begins with an empty line
    end = HEADERS_END.search(lines)
    if end is None or depth == MOST_DEPTH:
        return None
    head = lines[1 : end.start() + 1].decode("ascii", "surrogateescape").replace("\r\n", "\n")
    if head.startswith("From "):  # the envelope of an mbox
        head = head.partition("\n")[2]
    headers = HEADER.findall(head)
    if len(headers) != head.count("\n") - head.count("\n ") - head.count("\n\t") or "\r" in head:
        return None
    message = Message()
    for name, value in headers:
        if name[:8].lower() == "content-":
            message.set_raw(name, value[:LONGEST_HEADER])
    small, body = head.lower(), lines[end.end() :]
    if "multipart" not in small and "message/" not in small:
        message.set_payload(body.decode("ascii", "surrogateescape"))
    elif inside := _inside(message, body, depth):
        message.set_payload(inside)
    else:
        return None
    return Parsed(headers, message)


def _inside(message: Message, body: bytes, depth: int) -> list[Message | str] | None:
    """The parts of a composed message, if they are all well-formed."""
    boundary = message.get_boundary()
    if not boundary or message.get_content_maintype() != "multipart" or message.get_content_subtype() == "digest":
        return None
    if body.count(b"\r") != body.count(b"\r\n"):
        return None
    found = list[Message | str]()
    for piece in _pieces(body, boundary.encode("ascii", "surrogateescape")):
        part = well_formed(piece, depth + 1)
        if part is None:
            return None
        found.append(part.message)
    return found


def _pieces(body: bytes, boundary: bytes) -> list[bytes]:
    """What lies between the lines of a boundary; the line end before such a line is a part of it."""
    found, first = list[bytes](), None
    for line in re.finditer(rb"^--" + re.escape(boundary) + rb"(--)?[ \t]*(?:\r?\n|\Z)", body, re.MULTILINE):
        if first is not None:
            found.append(body[first : line.start()].removesuffix(b"\n").removesuffix(b"\r"))
        first = line.end()
        if line[1] or len(found) == MOST_PARTS:
            return found
    return found if first is None else [*found, body[first:]]


def _beginning(raw: bytes) -> bytes:
    """As much of a message as is read."""
    raw = raw[:MOST_BYTES]
    if len(raw) <= MOST_LINES or raw.count(b"\n") + raw.count(b"\r") <= MOST_LINES:
        return raw
    end = 0
    for count, match in enumerate(re.finditer(rb"\r\n|\r|\n", raw)):
        if count == MOST_LINES:
            break
        end = match.end()
    return raw[:end]


class Part(NamedTuple):
    """The declared properties of a part, and its text; empty where it has none."""

    kind: str
    charset: str
    encoding: str
    file: str
    text: str
    headers: Sequence[tuple[str, str]] = ()  # of the message that it is, where it is one


def parts(message: Message) -> Iterator[Part]:
    """The message and the parts in it, in their order."""
    waiting, left = [message], MOST_TEXT
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        # A single payload would be decoded, by whatever charset is declared.
        inside = part.get_payload() if part.is_multipart() else None
        if isinstance(inside, list):
            waiting.extend(p for p in reversed(inside) if isinstance(p, Message))
        described = _described(part, left)
        left -= len(described.text)
        if described.kind.startswith("message/") and isinstance(inside, list):
            inner = [p for p in inside if isinstance(p, Message)][:1]
            headers = [(name, str(value)) for p in inner for name, value in islice(p.raw_items(), MOST_HEADERS)]
            described = described._replace(headers=headers)
        yield described


def _described(part: Message, most: int) -> Part:
    # What is absent need not be parsed; of repeated headers the first counts.
    headers = {name.lower(): value for name, value in reversed(list(part.raw_items()))}
    typed = str(headers.get("content-type", "")).lower()
    kind, charset = _typed(typed) if typed else (part.get_default_type(), "")
    encoding = _declared(lambda: part.get(ENCODING)).lower() if ENCODING in headers else ""
    file = _declared(part.get_filename) if "name" in typed or "content-disposition" in headers else ""
    # A multipart whose parts were not found is one text.
    is_text = kind.startswith("text/") or (kind.startswith("multipart/") and not part.is_multipart())
    return Part(kind, charset, encoding, file, _text(part, charset)[:most] if is_text and most > 0 else "")


@lru_cache(maxsize=1024)  # most mail is of few types
def _typed(value: str) -> tuple[str, str]:
    """The type and the charset of a content-type header."""
    part = Message()
    part.set_raw("content-type", value)
    return _declared(part.get_content_type), _declared(part.get_content_charset) if "charset" in value else ""


def _text(part: Message, charset: str) -> str:
    for _ in range(2):
        with suppress(*BROKEN):
            data = part.get_payload(decode=True)
            return decoded(data if isinstance(data, bytes) else b"", charset)
        del part[ENCODING]  # what cannot be decoded is taken as it is
    return ""


def _declared(ask: Callable[[], Any]) -> str:
    """A property that a part declares, or nothing where it is malformed."""
    try:
        return " ".join(str(ask() or "").split())
    except BROKEN:
        return ""


# ---------------------------------------------------------------------------------------------- tokens


class How(IntEnum):
    """How the value of a header is read; the numbers are the kernel's."""

    NAME = 0  # not at all
    WORDS = 1
    HOSTS = 2
    ADDRESSES = 3
    MESSAGE_ID = 4  # how its code is written, and its host
    DATE = 5  # its zone


@lru_cache(maxsize=1024)
def _read_as(name: str) -> tuple[str, int] | None:
    """The name of a header in lower case, and how its value is read; None where it is ignored."""
    name = header_text(name).lower()
    if NO_EVIDENCE.match(name):
        return None
    if name in READ_AS:
        return name, READ_AS[name].value
    return name, (How.NAME if MERE_NAMES.fullmatch(name) else How.WORDS).value


READ_AS = {
    "message-id": How.MESSAGE_ID,
    "date": How.DATE,
    **dict.fromkeys(("received", "in-reply-to", "references"), How.HOSTS),
    **dict.fromkeys(("from", "reply-to", "return-path", "sender", "to", "cc", "delivered-to"), How.ADDRESSES),
}


def _add_part(bag: TokenBag, part: Part) -> None:
    found = [f"type:{part.kind[:60]}"]
    if part.charset:
        found.append(f"charset:{part.charset[:LONGEST_CODE]}")
    if part.encoding:
        found.append(f"encoding:{header_text(part.encoding)[:LONGEST_CODE]}")
    if part.file:
        name = header_text(part.file[:LONGEST_HEADER]).lower()
        bag.add_words("file", name)
        found.append(f"file:.{name.rpartition('.')[2][:8]}")
    bag.add(found)


def _add_text(bag: TokenBag, part: Part) -> None:
    text, links = part.text, list[str]()
    if BASE64.fullmatch(text) and (inside := _decoded_base64(text)):
        text = inside
        bag.add(["encoding:undeclared-base64"])
    is_page = part.kind == "text/html" or PAGE.match(text) is not None
    bag.count_form(text, is_page)
    if is_page:
        page = read_html(text)
        text, links = page.text, page.links
        bag.add([f"html:{tag}" for tag in page.tags])
        if page.hidden:
            bag.add_words("hidden", page.hidden)
    bag.add_text(text, links)


def _decoded_base64(text: str) -> str:
    """The text that lines of base64 hold; nothing where they hold something else."""
    with suppress(ValueError):
        data = base64.b64decode("".join(text.split()) + "===")
        found = decoded(data)
        printable = sum(c.isprintable() or c.isspace() for c in found[:1000])
        return found if printable >= 0.95 * len(found[:1000]) else ""
    return ""
