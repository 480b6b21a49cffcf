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
from itertools import pairwise
from typing import Any

from tallybayes.kernels import TokenBag
from tallybayes.mail.charset import decoded, header_text
from tallybayes.mail.html import read_html

MOST_BYTES = 1 << 20  # of a message that are looked at: an attachment of 50 MB says no more than its beginning
MOST_LINES = 20_000
MOST_PARTS = 100
MOST_NESTED = 50  # mentions of multipart types: the parser's time grows with the depth times the lines
MOST_TEXT = 1 << 18  # characters that are read, in all parts together
MOST_HEADERS = 200
LONGEST_HEADER = 2000  # characters
LONGEST_CODE = 24  # characters of a charset, an encoding or a message's number that are told apart

HOST = re.compile(r"(?<![a-z0-9_.-])(?:[a-z0-9_-]{1,63}\.){1,20}[a-z0-9-]{1,63}")
ADDRESS = re.compile(r"([\w.+=-]{1,64})@((?:[\w-]{1,63}\.){0,20}[\w-]{1,63})")
LINK_END = re.compile(r"[^\s<>\"')\]]{1,300}")
LINK_PARTS = re.compile(r"(?:([a-z]{1,12}):)?(?://)?(?:[^/@]{0,100}@)?([^/?#:]{0,255})")
PAGE = re.compile(r"\s{0,100}<(?:!doctype|html)\b", re.IGNORECASE)
ZONE = re.compile(r"([+-]\d{4})\s*(?:\([^()]*\))?\s*$")

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
    for name, value in headers(message):
        _add_header(bag, name, value)
    for part, charset, text in texts(message):
        _add_part(bag, part, charset)
        if text:
            _add_text(bag, part, text)
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


def parts(message: Message) -> Iterator[Message]:
    """The message and the parts in it, in their order."""
    waiting = [message]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        yield part
        inside = part.get_payload()
        if isinstance(inside, list):
            waiting.extend(p for p in reversed(inside) if isinstance(p, Message))


def texts(message: Message) -> Iterator[tuple[Message, str, str]]:
    """Each part with its charset and its text, which are empty where it has none."""
    left = MOST_TEXT
    for part in parts(message):
        charset = _told(part.get_content_charset)
        text = _text(part, charset)[:left] if left > 0 and _is_text(part) else ""
        left -= len(text)
        yield part, charset, text


def _is_text(part: Message) -> bool:
    """Whether there is text to read; a multipart whose parts were not found is one text."""
    kind = part.get_content_maintype()
    return kind == "text" or (kind == "multipart" and isinstance(part.get_payload(), str))


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


def headers(message: Message) -> Iterator[tuple[str, str]]:
    """Names, in lower case, and values of the headers that count."""
    for (name, value), _ in zip(message.raw_items(), range(MOST_HEADERS), strict=False):
        name = header_text(name[:60]).lower()
        if not SILENT.match(name):
            yield name, header_text(str(value)[:LONGEST_HEADER])


def _add_header(bag: TokenBag, name: str, value: str) -> None:
    found, text = [f"header:{name}"], ""
    if name in ADDRESSES:
        for user, domain in ADDRESS.findall(value.lower()):
            found += [f"{name}:{user}@{domain}", *_of_host(name, domain)]
        text = ADDRESS.sub(" ", value)
    elif name in HOSTS:
        found += _of_hosts(name, value)
    elif name == "message-id":
        own, _, host = value.partition("@")
        found += [f"message-id:{_shape(own)}", *_of_hosts(name, host)]
    elif name == "date":
        zone = ZONE.search(value)
        found.append(f"date:{zone[1] if zone else 'no-zone'}")
    elif not MERE_NAMES.fullmatch(name):
        text = value
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


def _add_part(bag: TokenBag, part: Message, charset: str) -> None:
    found = [f"type:{_told(part.get_content_type)[:60]}"]
    if charset:
        found.append(f"charset:{charset[:LONGEST_CODE]}")
    if encoding := _told(lambda: part.get("content-transfer-encoding")).lower():
        found.append(f"encoding:{header_text(encoding)[:LONGEST_CODE]}")
    if name := header_text(_told(part.get_filename)[:LONGEST_HEADER]).lower():
        bag.add_words("file", name)
        found.append(f"file:.{name.rpartition('.')[2][:8]}")
    bag.add(found)


def _add_text(bag: TokenBag, part: Message, text: str) -> None:
    links: Iterable[str] = ()
    if part.get_content_subtype() == "html" or PAGE.match(text):
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
