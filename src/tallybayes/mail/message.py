"""A message as the tokens that a filter counts: bytes → parts → tokens.

Tokens of a header carry its name (``subject:free``), so that a word in the subject and the same word in the text are
different evidence. What a message does wrong is no error: it is read as far as it goes, and no part of it is fetched,
opened or run. The limits bound the time that any message can take, however it was made.
"""

from __future__ import annotations

import email
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email.message import Message
from email.parser import BytesHeaderParser
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

from tallybayes._native import TokenBag  # not by way of kernels: processes that only read need no NumPy
from tallybayes.mail.charset import decoded, header_text
from tallybayes.mail.html import read_html

MOST_BYTES = 1 << 20  # of a message that are looked at: an attachment of 50 MB says no more than its beginning
MOST_LINES = 20_000
MOST_PARTS = 100
MOST_NESTED = 50  # mentions of multipart types: the parser's time grows with the depth times the lines
MOST_TEXT = 1 << 18  # characters that are read, in all parts together
MOST_HEADERS = 200
LONGEST_NAME = 60  # characters of a header's name
LONGEST_HEADER = 2000  # characters
LONGEST_CODE = 24  # characters of a charset, an encoding or a message's number that are told apart

HOST = re.compile(r"(?<![a-z0-9_.-])(?:[a-z0-9_-]{1,63}\.){1,20}[a-z0-9-]{1,63}")
ADDRESS = re.compile(r"([\w.+=-]{1,64})@((?:[\w-]{1,63}\.){0,20}[\w-]{1,63})")
LINK_END = re.compile(r"[^\s<>\"')\]]{1,300}")
LINK_PARTS = re.compile(r"(?:([a-z]{1,12}):)?(?://)?(?:[^/@]{0,100}@)?([^/?#:]{0,255})")
PAGE = re.compile(r"\s{0,100}<(?:!doctype|html)\b", re.IGNORECASE)
ZONE = re.compile(r"([+-]\d{4})\s*(?:\([^()]*\))?\s*$")

ENCODING = "content-transfer-encoding"
HEADERS_END = re.compile(rb"\n\r?\n")
COMPOSED = re.compile(rb"(?i)multipart|message/")  # what has parts

HOSTS = {"received", "in-reply-to", "references"}
ADDRESSES = {"from", "reply-to", "return-path", "sender", "to", "cc", "delivered-to"}
# Dates, codes and fixed phrases: their values never come again or say nothing, but that they are there is a token.
MERE_NAMES = re.compile(
    r"lines|content-length|content-type|content-disposition|status|thread-index|mime-version|.*date|"
    r"(?:x-google-)?dkim-signature|domainkey-signature|arc-.*|authentication-results|received-spf|"
    r"x-antiabuse|x-authentication-warning"
)
# What another filter found says what that filter thought, not what the message is. A mailing list writes the same dozen
# headers on all its messages: one of them, its name, says it all, and the others would drown out the message.
SILENT = re.compile(
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
     'link:shop.example.net', 'link:example.net', 'link:.net', 'buy', 'now', 'http', 'shop.example.net', 'x']
    """
    return document(raw).split("\n")


def document(raw: bytes) -> str:
    """The tokens of a message, one a line: what the model counts."""
    message, bag = parsed(raw), TokenBag()
    for name, value in islice(message.raw_items(), MOST_HEADERS):
        _add_header(bag, *_read_as(name[:LONGEST_NAME]), value)
    for part in parts(message):
        _add_part(bag, part)
        if part.text:
            _add_text(bag, part)
    return bag.document()


# ---------------------------------------------------------------------------------------------- parts


def parsed(raw: bytes) -> Message:
    """The message as a tree of parts; one that would break the parser is headers and one text.

    The parser is the standard one with its classic policy: it leaves headers as they are. The newer policies parse
    them by grammar, which takes ten times as long and raises on charsets and addresses that real mail has.
    """
    raw = _beginning(raw)
    with suppress(*BROKEN):
        end = HEADERS_END.search(raw)
        if end is not None and not COMPOSED.search(raw, 0, end.start()):
            message = email.message_from_bytes(raw[: end.end()])
            if not message.get_payload():  # all of that was headers, and the rest is one piece
                message.set_payload(raw[end.end() :].decode("ascii", "surrogateescape"))
                return message
        if len(re.findall(rb"(?i)multipart/", raw)) <= MOST_NESTED:
            return email.message_from_bytes(raw)
    try:
        return BytesHeaderParser().parsebytes(raw)
    except BROKEN:
        whole = Message()
        whole.set_payload(raw.decode("ascii", "surrogateescape"))
        return whole


def _beginning(raw: bytes) -> bytes:
    """As much of a message as is looked at."""
    raw = raw[:MOST_BYTES]
    if raw.count(b"\n") + raw.count(b"\r") <= MOST_LINES:
        return raw
    end = 0
    for count, match in enumerate(re.finditer(rb"\r\n|\r|\n", raw)):
        if count == MOST_LINES:
            break
        end = match.end()
    return raw[:end]


class Part(NamedTuple):
    """What a part says of itself, and its text; empty where it has none."""

    kind: str
    charset: str
    encoding: str
    file: str
    text: str


def parts(message: Message) -> Iterator[Part]:
    """The message and the parts in it, in their order."""
    waiting, left = [message], MOST_TEXT
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        inside = part.get_payload()
        if isinstance(inside, list):
            waiting.extend(p for p in reversed(inside) if isinstance(p, Message))
        described = _described(part, left)
        left -= len(described.text)
        yield described


def _described(part: Message, most: int) -> Part:
    told = {name.lower(): value for name, value in part.raw_items()}  # what is not there need not be parsed
    typed = str(told.get("content-type", "")).lower()
    kind = _told(part.get_content_type) if typed else part.get_default_type()
    charset = _told(part.get_content_charset) if "charset" in typed else ""
    encoding = _told(lambda: part.get(ENCODING)).lower() if ENCODING in told else ""
    file = _told(part.get_filename) if "content-disposition" in told or "name" in typed else ""
    # A multipart whose parts were not found is one text.
    is_text = kind.startswith("text/") or (kind.startswith("multipart/") and not part.is_multipart())
    return Part(kind, charset, encoding, file, _text(part, charset)[:most] if is_text and most > 0 else "")


def _text(part: Message, charset: str) -> str:
    try:
        data = part.get_payload(decode=True)
    except BROKEN:
        data = None
    if not isinstance(data, bytes):
        inside = part.get_payload()
        data = inside.encode("utf-8", "surrogateescape") if isinstance(inside, str) else b""
    return decoded(data, charset)


def _told(ask: Callable[[], Any]) -> str:
    """What a part says of itself, or nothing where it cannot be understood."""
    try:
        return " ".join(str(ask() or "").split())
    except BROKEN:
        return ""


# ---------------------------------------------------------------------------------------------- tokens


@lru_cache(maxsize=1024)
def _read_as(name: str) -> tuple[str, str]:
    """The name of a header in lower case, and how its value is read."""
    name = header_text(name).lower()
    if SILENT.match(name):
        return name, "silent"
    if name in ADDRESSES:
        return name, "addresses"
    if name in HOSTS:
        return name, "hosts"
    if name in ("date", "message-id"):
        return name, name
    return name, "name" if MERE_NAMES.fullmatch(name) else "words"


def _add_header(bag: TokenBag, name: str, how: str, raw: str) -> None:
    if how == "silent":
        return
    found, text, value = [f"header:{name}"], "", header_text(str(raw)[:LONGEST_HEADER])
    if how == "words":
        text = value
    elif how == "hosts":
        found += _of_hosts(name, value)
    elif how == "addresses":
        for user, domain in ADDRESS.findall(value.lower()):
            found += [f"{name}:{user}@{domain}", *_of_host(name, domain)]
        text = ADDRESS.sub(" ", value)
    elif how == "message-id":
        own, _, host = value.partition("@")
        found += [f"message-id:{_shape(own)}", *_of_hosts(name, host)]
    elif how == "date":
        zone = ZONE.search(value)
        found.append(f"date:{zone[1] if zone else 'no-zone'}")
    bag.add(found)
    bag.add_words(name, text)


def _of_hosts(tag: str, text: str) -> list[str]:
    return [token for host in HOST.findall(text.lower()) for token in _of_host(tag, host)]


@lru_cache(maxsize=4096)  # mail comes from few hosts, and the same ones are in every header
def _of_host(tag: str, host: str) -> tuple[str, ...]:
    """The host and the domains that it lies in; of an address in numbers, the networks."""
    labels = host.split(".")
    if labels[-1].isdigit():
        return tuple(f"{tag}:{'.'.join(labels[:n])}" for n in range(min(3, len(labels)), 1, -1))
    domains = [f"{tag}:{'.'.join(labels[-n:])}" for n in range(min(5, len(labels)), 1, -1)]
    return (*domains, f"{tag}:.{labels[-1]}") if domains else ()


def _shape(text: str) -> str:
    """How a code is written: programs that send mail differ in it."""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "9", text)))[:LONGEST_CODE]


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
    if part.kind == "text/html" or PAGE.match(text):
        text, links, tags = read_html(text)
        bag.add([f"html:{tag}" for tag in tags])
    text = text.lower()
    bag.add(_of_links([*links, *_links(text)]))
    bag.add_words("", text)


def _links(text: str) -> Iterator[str]:
    """Addresses of pages in a text of lower case; much faster than one pattern for all of them."""
    for before, after in pairwise(text.split("://")):
        if before.endswith(("http", "https", "ftp")) and (found := LINK_END.match(after)):
            yield f"{before[-5:].rpartition('ftp')[1] or 'http'}://{found[0]}"
    for after in text.split("www.")[1:]:
        if found := LINK_END.match(after):
            yield f"www.{found[0]}"


def _of_links(links: Iterable[str]) -> list[str]:
    found = []
    for link in dict.fromkeys(links):
        scheme, host = LINK_PARTS.match(link.strip().lower()).groups()  # type: ignore[union-attr]  # it always matches
        if scheme:
            found.append(f"link:{scheme}")
        found += _of_host("link", host)
    return found
