"""Messages to tokens."""

from __future__ import annotations

import base64
import os
import re
import tarfile
from collections.abc import Iterator
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tallybayes._native import TokenBag

from tallybayes.core.spelling import UNSPACED, normalised
from tallybayes.mail import message
from tallybayes.mail.charset import decoded, header_text, known
from tallybayes.mail.html import read_html
from tallybayes.mail.message import How, document, tokens

from .letters import BROKEN, attachment, nested, page


def test_a_message_of_several_parts() -> None:
    letter = EmailMessage()
    letter["Subject"] = "Grüße & more"
    letter["From"] = "Ann Lee <ann@mail.example.co.uk>"
    letter["Received"] = "from relay.example.net ([192.0.2.7]) by mx.example.org"
    letter["Date"] = "Mon, 16 Nov 2026 03:00:00 +0100 (CET)"
    letter["Message-ID"] = "<20261116.abcDEF@host.example.com>"
    letter.set_content("Plain words, don't panic")
    letter.add_alternative("<p>Fancy <b>wo</b>rds <a href='https://shop.example.net/a'>shop</a></p>", subtype="html")
    letter.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Invoice May.pdf")
    found = set(tokens(letter.as_bytes()))
    assert found >= {
        "subject:grüsse", "subject:more", "from:ann@mail.example.co.uk", "from:mail.example.co.uk", "from:.uk",
        "from:lee", "received:relay.example.net", "received:example.net", "received:192.0.2", "received:192.0",
        "date:+0100", "message-id:<9.aA", "message-id:host.example.com", "type:multipart/mixed", "type:text/plain",
        "type:text/html", "type:application/pdf", "charset:utf-8", "file:invoice", "file:may.pdf", "file:.pdf",
        "plain", "words", "don't", "panic", "fancy", "link:https", "link:shop.example.net", "header:subject",
    }  # fmt: skip
    assert "grüsse" not in found  # it was in the subject alone
    assert len(tokens(letter.as_bytes())) == len(found)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_messages_are_read_as_far_as_they_go(name: str) -> None:
    found = tokens(BROKEN[name])
    assert found
    assert all(token and "\n" not in token for token in found)
    assert document(BROKEN[name]).encode().decode().split("\n") == found
    readable = ("words", "schöne", "look", "shown", "deep", "buy", "innermost", "w0", "cut", "nul")
    hidden = ("empty", "one byte", "only newlines", "base64", "HTML entities", "without number", "dots", "on each line")
    said = {token.rpartition(":")[2] for token in found}
    assert said & set(readable) or any(part in name for part in hidden)


def test_pitfall_34_depth_and_size() -> None:
    assert "innermost" in tokens(nested(30))
    assert "innermost" in tokens(nested(1000))  # read as one text
    found = tokens(attachment(50_000_000))
    assert {"look", "file:setup.exe", "file:.exe", "type:application/octet-stream"} <= set(found)


def test_verdicts_of_other_filters_are_not_counted() -> None:
    plain = b"Subject: hello\n\nwords\n"
    given_labels = b"X-Spam-Status: Yes\nX-Bogosity: Spam\nX-Tallybayes: spam 1.0\nList-Post: <mailto:x@example.com>\n"
    assert tokens(given_labels + plain) == tokens(plain)


MARK, RUN = "\u0300-\u036f", f"[{UNSPACED}]"
WORD = re.compile(
    rf"(?!{RUN})[^\W_](?:(?:(?!{RUN})[\w$'’.{MARK}-])*(?!{RUN})[\w$%{MARK}])?|{RUN}(?:{RUN}|[{MARK}])*|\$+|!+"
)


def expected(text: str) -> Iterator[str]:
    """The tokens of a text, by a pattern over its normal form."""
    for word in WORD.findall(normalised(text)):
        if re.match(RUN, word):
            for n in range(min(2, len(word)), min(4, len(word)) + 1):
                yield from (word[i : i + n] for i in range(len(word) - n + 1))
        elif len(word) <= 24 or (len(word) <= 40 and all(not c.isascii() or c.isalpha() for c in word)):
            yield word
        else:
            yield f"long:{min(len(word), 990) // 10}0"


@settings(max_examples=300)
@given(st.text(st.sampled_from("aZ09éÉß你免٣²ⅷＦ_$'’.-%! \n\0\u0301"), max_size=60))
def test_words_are_those_of_a_pattern(text: str) -> None:
    bag = TokenBag()
    bag.add_words("", text)
    assert bag.document().split("\n") == (list(dict.fromkeys(expected(text))) or [""])


def test_one_spelling_and_every_script() -> None:
    def words(text: str) -> list[str]:
        bag = TokenBag()
        bag.add_words("", text)
        return bag.document().split("\n")

    assert words("Straße STRASSE strasse ＳＴＲＡＳＳＥ") == ["strasse"]
    assert words("cafe\u0301 café CAFÉ") == ["café"]
    assert "免费" in words("恭喜您获得免费奖品")
    assert "免费奖品" in words("恭喜您获得免费奖品")
    assert max(map(len, words("恭喜您获得免费奖品"))) == 4
    assert words("Donaudampfschifffahrtsgesellschaft") == ["donaudampfschifffahrtsgesellschaft"]
    assert words("x" * 60 + " " + "a1" * 15) == ["long:60", "long:30"]


@pytest.mark.parametrize(
    ("html", "how"),
    [
        ("<div style='display: none'>secret</div>shown", "style"),
        ("<div style='DISPLAY:NONE;color:red'><b style='display:none'>secret</b></div>shown", "style"),
        ("<p hidden>secret</p>shown", "style"),
        ("<span style='visibility:hidden'>secret</span>shown", "style"),
        ("<div style='position:absolute; left: -9999px'>secret</div>shown", "style"),
        ("<span style='font-size:0px'>secret</span>shown", "size"),
        ("<font size=0>secret</font>shown", "size"),
        ("<font color=white>secret</font>shown", "colour"),
        ("<body bgcolor='#123456'>shown<span style='color:#123455'>secret</span>", "colour"),
        (
            "<table bgcolor=black><tr><td style='background:#fff'><i style='color:rgb(255,255,250)'>secret</i>shown",
            "colour",
        ),
    ],
)
def test_text_that_no_reader_sees_is_evidence_of_its_own(html: str, how: str) -> None:
    found = tokens(page(f"<html>{html}"))
    assert {"hidden:secret", f"html:hidden-by-{how}", "shown"} <= set(found)
    assert "secret" not in found


@pytest.mark.parametrize(
    "html",
    [
        "<p style='color:white;background:#000'>shown</p>",
        "<body bgcolor=navy><font color=white>shown</font>",
        "<p style='font-size:10px'>shown</p>",
        "<table background='x.png'><td><font color=white>shown</font></table>",
        "<p style='color:red'>shown</p>",
        "<style>.x { display:none }</style>shown",
    ],
)
def test_text_that_is_seen_is_not_hidden(html: str) -> None:
    found = tokens(page(f"<html>{html}"))
    assert "shown" in found
    assert not [token for token in found if "hidden" in token]


def test_a_word_with_hidden_text_inside_is_that_word() -> None:
    assert "free" in tokens(page("<html>fr<span style='display:none'>xyz</span>ee"))


def test_headers_of_a_forwarded_message_count() -> None:
    inner = b"From: Bad <bad@spam.example.biz>\nSubject: win money\nX-Spam-Status: Yes\n\nhello\n"
    outer = b"Subject: fwd\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n\n"
    found = set(tokens(outer + inner + b"--x--\n"))
    assert {"subject:fwd", "subject:win", "from:spam.example.biz", "hello", "type:message/rfc822"} <= found
    assert not any("x-spam" in token for token in found)


def test_base64_is_read_as_the_text_that_it_holds() -> None:
    text = b"Dear friend, you have won a large sum of money in our lottery. " * 4
    declared = b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(text)
    assert "lottery" in tokens(declared)
    lost = tokens(b"\n" + base64.encodebytes(text))  # a body whose headers are gone
    assert {"lottery", "encoding:undeclared-base64"} <= set(lost)
    picture = tokens(b"\n" + base64.encodebytes(bytes(range(256)) * 2))
    assert "encoding:undeclared-base64" not in picture


HOST = re.compile(r"(?<![a-z0-9_.-])(?:[a-z0-9_-]{1,63}\.){1,20}[a-z0-9-]{1,63}")
ADDRESS = re.compile(r"([\w.+=-]{1,64})@((?:[\w-]{1,63}\.){0,20}[\w-]{1,63})")
ZONE = re.compile(r"([+-]\d{4})\s*(?:\([^()]*\))?\s*$")


def of_header(how: How, value: str) -> list[str]:
    bag = TokenBag()
    bag.add_header("x", how.value, value)
    first, *found = bag.document().split("\n")
    assert first == "header:x"
    return found


def domains(host: str) -> list[str]:
    labels = host.split(".")
    if labels[-1].isdigit():
        return [f"x:{'.'.join(labels[:n])}" for n in range(min(3, len(labels)), 1, -1)]
    found = [f"x:{'.'.join(labels[-n:])}" for n in range(min(5, len(labels)), 1, -1)]
    return [*found, f"x:.{labels[-1]}"] if found else []


def once(tokens: list[str]) -> list[str]:
    return list(dict.fromkeys(tokens))


@settings(max_examples=300)
@given(
    st.text(st.sampled_from("aB1_-.. @"), max_size=80)
    | st.lists(st.sampled_from(["a" * 63, "b" * 64, "_", "-", "C", "1", "", " "]), max_size=30).map(".".join)
)
def test_hosts_are_those_of_a_pattern(text: str) -> None:
    want = [token for host in HOST.findall(text.lower()) for token in domains(host)]
    assert of_header(How.HOSTS, text) == once(want)


@settings(max_examples=300)
@given(
    st.text(st.sampled_from("aB1é你_+=-..@@ <>"), max_size=80)
    | st.lists(st.sampled_from(["a" * 64, "éa" * 40, "b", "@", ".", " "]), max_size=30).map("".join)
)
def test_addresses_are_those_of_a_pattern(text: str) -> None:
    want = []
    for user, host in ADDRESS.findall(text.lower()):
        want += [f"x:{user}@{host}", *domains(host)]
    bag = TokenBag()
    bag.add_words("x", ADDRESS.sub(" ", text))
    want += bag.document().split("\n") if bag.document() else []
    assert of_header(How.ADDRESSES, text) == once(want)


@given(st.text(st.sampled_from("+-0139() \tPDT"), max_size=12))
def test_zones_are_those_of_a_pattern(text: str) -> None:
    zone = ZONE.search(text)
    assert of_header(How.DATE, text) == [f"x:{zone[1] if zone else 'no-zone'}".lower()]


def test_codes_have_a_shape() -> None:
    assert of_header(How.MESSAGE_ID, "<2026.abcDEF-é1@mx.example.com>") == [
        "x:<9.aA-é9", "x:mx.example.com", "x:example.com", "x:.com",
    ]  # fmt: skip
    assert of_header(How.MESSAGE_ID, ".-" * 20) == ["x:" + ".-" * 12]


@pytest.mark.parametrize(
    ("text", "links", "want"),
    [
        ("see HTTP://User@Shop.Example.net:80/a?b", [], ["http", "shop.example.net", "example.net", ".net"]),
        ("ftp://h.example) WWW.b.example\u00a0", [], ["ftp", "h.example", ".example", "www.b.example", "b.example"]),
        ("http:// gopher://a.b www.", [], []),
        ("", ["mailto:x@example.com?subject=y"], ["mailto", "example.com", ".com"]),
        ("", ["ht\ntp://a.ex\n\tample/b", "#top", "", "//c.example"], ["http", "a.example", ".example", "c.example"]),
        ("", ["http://3.4.5.6/", "x" * 1000], ["http", "3.4.5", "3.4"]),
    ],
)  # fmt: skip
def test_links_lead_to_hosts(text: str, links: list[str], want: list[str]) -> None:
    bag = TokenBag()
    bag.add_text(text, links)
    found = [token[5:] for token in bag.document().split("\n") if token.startswith("link:")]
    assert found == want


LINES = [
    "Subject: words", " folded", "\tfolded", "Content-Type: text/plain; charset=utf-8", "From someone Mon 03:00",
    "Content-Type: multipart/mixed; boundary=b", "Content-Type: multipart/mixed;", '  boundary="c d"', "no header",
    "Content-Type: multipart/digest; boundary=b", "Content-Type: message/rfc822", "Content-Type: text/html",
    "Content-Transfer-Encoding: base64", "Content-Transfer-Encoding: quoted-printable", "aGVsbG8gd29ybGQ=", "a=20b=",
    "--b", "--b--", "--b  ", "--c d", "--c d--", "--bb", "", "", "", "text",
    "Content-Disposition: attachment; filename=f.x",
]  # fmt: skip


@settings(max_examples=1000)
@given(
    st.lists(st.sampled_from(LINES), max_size=25),
    st.lists(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", ""]), min_size=1, max_size=3),
)
def test_what_is_well_formed_is_read_as_the_parser_reads_it(lines: list[str], ends: list[str]) -> None:
    raw = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines)).encode()
    quick = message.well_formed(raw)
    if quick is not None:
        letter = message.by_parser(raw)
        assert [name for name, _ in quick.headers] == letter.keys()
        assert list(message.parts(quick.message)) == list(message.parts(letter))


def test_ordinary_messages_are_well_formed() -> None:
    letter = EmailMessage()
    letter["Subject"] = "a subject that is so long that it has to be folded, since lines have at most 78 characters"
    letter.set_content("words")
    assert message.well_formed(letter.as_bytes())
    letter.add_alternative("<p>words</p>", subtype="html")
    letter.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    for raw in (letter.as_bytes(), b"From a Mon Nov 16 03:00 2026\n" + letter.as_bytes()):
        found = message.well_formed(raw)
        assert found
        kinds = [part.kind for part in message.parts(found.message)]
        assert kinds == ["multipart/mixed", "multipart/alternative", "text/plain", "text/html", "application/pdf"]


def test_bytes_with_and_without_a_charset() -> None:
    assert decoded("Grün".encode("latin-1"), "iso-8859-1") == "Grün"
    assert decoded("Grün".encode(), "us-ascii") == "Grün"
    assert decoded(b"\x81", None) == "\ufffd"
    assert [known(name) for name in ("UTF8", "'latin-1'", "idna", "zlib", "nonsense", "", None, "a\0b")] == [
        "utf-8", "iso8859-1", None, None, None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?gr=C3=BCn?=", "grün"),
        ("=?utf-8?b?Z3LDvG4?=", "grün"),
        ("=?DEFAULT_CHARSET?q?gr=C3=BCn?=", "grün"),
        ("gr\udcfcn", "grün"),
        ("gr\udcfcn =?utf-8?q?gr=C3=BCn?=", "grün grün"),
        ("\ud800 lone", "? lone"),
    ],
)
def test_headers_are_decoded(raw: str, text: str) -> None:
    assert header_text(raw) == text


def test_html_is_what_a_reader_sees() -> None:
    found = read_html(
        "<style>p {}</style>V<!-- x -->ia<font size=1>g</font>ra<script>bad()</script><p>one</p><p>two</p>"
        "<img src='http://img.example.com/x.gif'><form action='mailto:x@example.com'>&eacute;&#8364;"
    )
    assert found.text.split() == ["viagra", "one", "two", "é€"]
    assert "bad" not in found.text
    assert set(found.links) == {"http://img.example.com/x.gif", "mailto:x@example.com"}
    assert found.tags == ["form", "img"]


def test_html_without_a_reader_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from tallybayes.errors import NotAvailableError

    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(NotAvailableError, match=r"pip install 'tallybayes\[mail\]'"):
        tokens(page("<p>words"))


def corpus() -> Path | None:
    place = Path(os.environ.get("TALLYBAYES_DATA", "")) / "mail_spamassassin.tar.gz"
    return place if place.exists() else None


@pytest.mark.skipif(corpus() is None, reason="TALLYBAYES_DATA names no folder with it")
def test_pitfall_36_every_message_that_makes_the_standard_package_raise_is_read() -> None:
    place = corpus()
    assert place is not None
    raised = 0
    with tarfile.open(place) as archive:
        for member in archive:
            if not member.isfile():
                continue
            raw = archive.extractfile(member).read()  # type: ignore[union-attr]
            try:
                letter = message.email.message_from_bytes(raw, policy=default)
                for part in letter.walk():
                    if part.get_content_maintype() == "text":
                        part.get_content()
            except Exception:
                raised += 1
                found = tokens(raw)
                assert len(found) > 20, member.name
                assert any(":" not in token for token in found), member.name
    assert raised == 26


def test_numbers_count_by_how_they_are_written():
    found = tokens(b"Subject: 1\n\nOnly $1,299.95 or 20%, 7 of v2.4 on 2002-10-08\n")
    numbers = [token.removeprefix("number:") for token in found if token.startswith("number:")]
    assert numbers == ["$9,999.99", "99%", "9.9", "9999-99-99"]
    assert {"299.95", "20%", "7"} <= set(found)


def test_the_form_of_a_text_is_evidence():
    found = tokens(b"Subject: a\n\nBUY NOW WHATEVER IT COSTS!!!\n")
    assert {"text:capitals-9", "text:exclamations-2", "text:not-quoted", "parts:text/plain"} <= set(found)
    found = tokens(b"Subject: a\n\nAnn wrote:\n> one\n> two\nyes, I think that is right\n-- \nBob\n")
    assert {"text:exclamations-0", "text:quoted-1", "text:reply", "text:signature"} <= set(found)
    page = b"Subject: a\nContent-Type: text/html\n\n<P CLASS=LOUD!>all of this is written in small letters</P>"
    assert {"text:capitals-0", "text:exclamations-0"} <= set(tokens(page))


def test_a_host_that_is_a_link_counts_once():
    found = tokens(b"Subject: a\n\nsee http://shop.example.net/x and node.js\n")
    assert "link:shop.example.net" in found
    assert "shop.example.net" not in found
    assert "node.js" in found
