"""Messages made up for the tests: a small mailbox, and messages that are broken in every way that mail is."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator

HAM_WORDS = "minutes meeting project draft review thanks regards lunch agenda patch release kernel reply notes"
SPAM_WORDS = "free money offer winner click guarantee credit cheap pills prize loan casino viagra deal"
BOTH = ["the", "a", "to", "and", "of", "in", "for", "you", "we", "this", "that", "with", "on", "is", "it"]


def letter(kind: str, number: int) -> bytes:
    """A message of the small mailbox; the same number gives the same message."""
    rng = random.Random(f"{kind} {number}")
    own = (SPAM_WORDS if kind == "spam" else HAM_WORDS).split()
    text = " ".join(rng.choice(own if rng.random() < 0.3 else BOTH) for _ in range(60))
    subject = " ".join(rng.sample(own, 3))
    sender = f"{rng.choice('abcdefgh')}@{'bulk' if kind == 'spam' else 'work'}{number % 5}.example.com"
    head = f"From: Somebody <{sender}>\nTo: you@example.org\nSubject: {subject}\nMessage-ID: <{number}@example.com>\n"
    if kind == "spam" and number % 3 == 0:
        page = f"<html><body><p>{text}<a href='http://shop{number % 4}.example.net/buy'>here</a></p></body></html>"
        return f"{head}MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n{page}\n".encode()
    return f"{head}\n{text}\n".encode()


def nested(depth: int) -> bytes:
    """Multiparts within multiparts."""
    parts = ["Subject: nested\n"]
    for level in range(depth):
        parts.append(f'Content-Type: multipart/mixed; boundary="b{level}"\n\n--b{level}\n')
    parts.append("Content-Type: text/plain\n\ninnermost words\n")
    parts += [f"--b{level}--\n" for level in reversed(range(depth))]
    return "".join(parts).encode()


def attachment(size: int) -> bytes:
    """A text, and a file of so many bytes."""
    data = base64.encodebytes(bytes(57) * (size // 57))
    return (
        b'Subject: big\nContent-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain\n\nlook at this\n'
        b'--x\nContent-Type: application/octet-stream; name="setup.exe"\nContent-Transfer-Encoding: base64\n\n'
    ) + data + b"\n--x--\n"  # fmt: skip


def page(html: str, head: str = "") -> bytes:
    """A message of HTML alone."""
    return f"Subject: page\n{head}Content-Type: text/html\n\n{html}".encode()


# Names that Python knows and no text is written in, or that cannot be names.
NO_CHARSETS = (
    b"undefined", b"idna", b"punycode", b"unicode_escape", b"raw_unicode_escape", b"utf\0-8", b"rot13", b"hex", b"zlib",
    b"bz2", b"uu", b"quopri", b"mbcs", b"oem", b"charmap", b"\xff", b"../x", b"x" * 1000, b"__init__", b"aliases",
)  # fmt: skip

BROKEN: dict[str, bytes] = {
    "empty": b"",
    "one byte": b"\x00",
    "only newlines": b"\r\n\r\n\n\n",
    "only a body": b"no headers here, just words\n",
    "headers without end": b"Subject: cut off",
    "NUL bytes": b"Subject: nul\x00 bytes\n\nwords\x00 with \x00\x00 nothing\n",
    "no charset": "Subject: grün\n\nSchöne Grüße\n".encode("latin-1"),
    "wrong charset": "Content-Type: text/plain; charset=us-ascii\n\nSchöne Grüße\n".encode(),
    "made-up charset": "Content-Type: text/plain; charset=DEFAULT_CHARSET\n\nSchöne Grüße\n".encode(),
    "charset that is no charset": b"Content-Type: text/plain; charset=zlib\n\nwords here\n",
    "charset with NUL": b'Content-Type: text/plain; charset="utf\x00-8"\n\nwords here\n',
    "base64 that is none": b"Content-Transfer-Encoding: base64\n\n!!! this is not base64 !!!\n",
    "encoded words that are none": b"Subject: =?utf-8?b?*?= =?x?y?z?= =?utf-8?q?gr=C3=BCn?=\n\nwords\n",
    "boundary that never comes": b'Content-Type: multipart/mixed; boundary="x"\n\nwords without a boundary\n',
    "boundary that is empty": b'Content-Type: multipart/mixed; boundary=""\n\n--\nwords\n',
    "multipart without boundary": b"Content-Type: multipart/alternative\n\nwords\n",
    "message within message": b"Content-Type: message/rfc822\n\nSubject: inner\n\ninner words\n",
    "content type of nonsense": b"Content-Type: ;;;=;\n\nwords\n",
    "file name of nonsense": b"Content-Disposition: attachment; filename*=x''%ff%00; filename*0*=utf-8'\n\nwords\n",
    "header of one long word": b"Subject: " + b"a" * 100_000 + b"\n\nwords\n",
    "headers without number": b"X-A: b\n" * 20_000 + b"\nwords\n",
    "lines without number": b"Subject: s\n\n" + b"\n" * 1_000_000,
    "words without number": b"Subject: s\n\n" + b" ".join(b"w%d" % i for i in range(200_000)),
    "dots": b"Received: from " + b"a." * 50_000 + b"\nReply-To: " + b"a@" * 50_000 + b"\n\n" + b"a.-" * 100_000,
    "HTML alone": page("<html><p>Buy <b>now</b> at <a href='http://user@shop.example.com:80/x?y'>our shop</a>"),
    "HTML that is deep": page("<div>" * 40_000 + "deep words"),
    "HTML that is bold": page("<b>" * 60_000 + "bold words"),
    "HTML comments": page("<!-- " * 40_000 + "hidden" + "-->" * 3 + "shown"),
    "HTML that never closes": page("<" * 200_000 + "words"),
    "HTML entities": page("&amp;" * 50_000 + "&#" + "9" * 10_000 + ";"),
    "1,000 multiparts deep": nested(1000),
    "30 multiparts deep": nested(30),
    "many parts": b'Content-Type: multipart/mixed; boundary="x"\n\n' + b"--x\n\nwords\n" * 20_000 + b"--x--\n",
    "a boundary on each line": b'Content-Type: multipart/mixed; boundary="x"\n\n' + b"--x\n" * 100_000,
    "attachment of 50 MB": attachment(50_000_000),
    **{
        f"{what} of charset {name[:20].decode('latin-1')!r}": raw % name
        for name in NO_CHARSETS
        for what, raw in {
            "words": b"Content-Type: text/plain; charset=%s\n\nwords here \xff\n",
            "subject": b"Subject: =?%s?q?free?= words\n\nwords\n",
            "file": b"Content-Disposition: attachment; filename*=%s''a%%ff\n\nwords\n",
            "charset": b"Content-Type: text/plain; charset*=%s''utf-8\n\nwords \xff\n",
        }.items()
    },
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- large messages

HEADS = (
    "Content-Type: text/plain; ", "Content-Type: multipart/mixed; boundary=", "Content-Disposition: attachment; ",
    "Content-Transfer-Encoding: ", "Subject: ", "Received: from ", "From: ", "Message-ID: ", "X-Tallybayes: ",
)  # fmt: skip
IN_HEADS = (
    b"a;", b";", b"\n a", b"\r\n a", b"\n \t", b"=?", b"=?utf-8?q?a?= ", b"=?utf-8?b?YQ==?=", b'"', b"a=b; ", b"\r",
    b"a*0*=utf-8''x; ", b"name*1=x;", b"<a@b>,", b"(", b" ", b"a.", b"@", b"\xff", b"\0",
)  # fmt: skip
KINDS = ("text/plain", "text/html", "multipart/mixed; boundary=x", "multipart/digest; boundary=x", "message/rfc822")
IN_BODIES = (
    b"=", b"=\n", b"YQ==", b"begin 644 x\n", b"<a href=x>", b"&amp", b"<![CDATA[", b"<script>", b"<", b"<table>",
    b"<b ", b"<!--", b"<svg><math>", b"www.", b"a.", b"http://a", b"a'", b"\r", b"\0", b"--x\n", b"--x\n\n",
    b"--x\n a\n",
    b"--x\nContent-Type: message/rfc822\n\n", b"--x\nContent-Type: multipart/mixed; boundary=x\n\n",
    b"Content-Type: message/rfc822\n\n", b"A: b\n\n",
)  # fmt: skip


def large(size: int) -> Iterator[tuple[str, bytes]]:
    """Messages of so many bytes, each of one piece over and over: where time is not linear, they show it."""
    for head in HEADS:
        for piece in IN_HEADS:
            yield f"{head}{piece!r}", head.encode() + piece * (size // len(piece)) + b"\n\nwords\n"
    for kind in KINDS:
        for piece in IN_BODIES:
            for encoding in ("7bit", "base64", "quoted-printable")[: 3 if kind.startswith("text") else 1]:
                start = f"Content-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n"
                yield f"{kind}, {encoding}, {piece!r}", start.encode() + piece * (size // len(piece))
    for piece in (b"A: b\n", b"a\n", b" a\n", b"From a 00:00\n\n", b"X-Tallybayes: a\n", b"Content-Type: text/plain\n"):
        yield f"lines of {piece!r}", piece * (size // len(piece))


# ---------------------------------------------------------------------------------------------- mutations


def _cut(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _flip(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.randint(1, 30)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _repeat(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    first = rng.randrange(len(raw) + 1)
    piece = raw[first : first + rng.choice((1, 10, 100, 1000))]
    return raw[:first] + piece * rng.choice((2, 20, 500)) + raw[first:]


def _splice(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    other = rng.choice(pool)
    return raw[: rng.randrange(len(raw) + 1)] + other[rng.randrange(len(other) + 1) :]


def _insert(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    unusual = (
        b"\x00", b"\r", b"\r\n\r\n", b"=?utf-8?b?", b"?=", b"Content-Type: multipart/mixed; boundary=x\n", b"--x\n",
        b"Content-Transfer-Encoding: base64\n", b"charset=utf-7", b"charset=utf-16", b"<!--", b"<table>", b"&#x110000;",
        b"\xff\xfe", b"\xed\xa0\x80", b"From x Mon Jan 1 00:00:00 2001\n", b"%s%n", b"=" * 80, b"http://",
        b"charset=idna", b"filename*0*=", b'";', b"<a href=", b"begin 644 x\n", b"quoted-printable",
        *(b"Content-Type: text/plain; charset=%s\n" % name for name in NO_CHARSETS),
        *(b"=?%s?q?a=FF?=" % name for name in NO_CHARSETS), *(b"; name*=%s''%%ff" % name for name in NO_CHARSETS),
    )  # fmt: skip
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(raw) + 1)
        raw = raw[:at] + rng.choice(unusual) * rng.choice((1, 1, 5, 200)) + raw[at:]
    return raw


def _shuffle(raw: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    lines = raw.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


MUTATIONS: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [
    _cut,
    _flip,
    _repeat,
    _splice,
    _insert,
    _shuffle,
]


def mutated(pool: list[bytes], seed: int) -> bytes:
    """One of the messages, broken in one to three ways; the same seed gives the same."""
    rng = random.Random(seed)
    raw = rng.choice(pool)
    for change in rng.choices(MUTATIONS, k=rng.randint(1, 3)):
        raw = change(raw, rng, pool)
    return raw
