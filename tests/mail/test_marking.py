"""The verdict in the header, and every other byte as it was."""

from __future__ import annotations

import email

import pytest

from tallybayes.mail.marking import marked

from .letters import BROKEN

LINE = b"X-Tallybayes: spam 0.9990"


@pytest.mark.parametrize("name", BROKEN)
def test_every_other_byte_is_as_it_was(name: str) -> None:
    raw = BROKEN[name]
    for ended in (raw, raw.replace(b"\n", b"\r\n")):
        got = marked(ended, "spam 0.9990")
        line = LINE + (b"\r\n" if ended != raw or b"\r\n" in raw[: raw.find(b"\n") + 1] else b"\n")
        assert got == line + ended


def test_the_envelope_line_stays_first() -> None:
    raw = b"From a@example.com Mon Nov 16 03:00:00 2026\r\nSubject: x\r\n\r\nFrom here on text\r\n"
    got = marked(raw, "spam 0.9990")
    assert got.startswith(b"From a@example.com")
    assert got.replace(LINE + b"\r\n", b"", 1) == raw
    assert email.message_from_bytes(got)["X-Tallybayes"] == "spam 0.9990"


def test_an_earlier_verdict_is_replaced_but_not_one_in_the_text() -> None:
    raw = b"Subject: x\nx-tallybayes : ham\n 0.0\n\t(forged)\nTo: y\n\nX-Tallybayes: ham 0.0\n"
    assert marked(raw, "spam 0.9990") == LINE + b"\nSubject: x\nTo: y\n\nX-Tallybayes: ham 0.0\n"


def test_a_line_that_continues_nothing_does_not_continue_the_verdict() -> None:
    raw = b" folded\nSubject: x\n\nwords\n"
    got = marked(raw, "spam 0.9990")
    assert got.replace(LINE + b"\n", b"", 1) == raw
    assert LINE + b"\nSubject" in got
