"""Messages that are broken at random: no crash, whatever the bytes. ``scripts/fuzz-mail`` does it 50,000 times."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tallybayes.mail.marking import marked

from .fuzz import MADE, SMALL, fuzz, learned, seconds_to_read, survives
from .letters import large

MODEL = learned()
LINES = st.sampled_from(
    [b"Subject: x", b"Content-Type: multipart/mixed; boundary=b", b"--b", b"--b--", b"", b" folded", b"\xff\xfe", b"\0",
     b"Content-Type: text/html; charset=utf-16", b"Content-Transfer-Encoding: base64", b"From a Mon 1 00:00 2001",
     b"=?utf-8?b?w7w=?=", b"<html><!--", b"X-Tallybayes: ham", b"Content-Type: message/rfc822", b"words"]
)  # fmt: skip


def test_mutated_messages() -> None:
    fuzz(range(400), [*MADE, *SMALL])


def test_the_work_grows_with_the_length_and_not_with_its_square() -> None:
    """Four times as long is four times the work, and sixteen times if it is quadratic; 12 leaves room for chance.

    ``scripts/fuzz-mail`` holds the half second of a megabyte on a quiet machine.
    """
    for (name, short), (_, long) in zip(list(large(1 << 17))[::3], list(large(1 << 19))[::3], strict=True):
        most = 12 * max(seconds_to_read(short), 0.05)
        assert seconds_to_read(long, most) < most, name


@settings(max_examples=200)
@given(st.binary(max_size=2000))
@example(b"Content-Type: text/plain; charset=utf-7\n\n+2AA-")
def test_any_bytes(raw: bytes) -> None:
    survives(MODEL, raw)


@settings(max_examples=200)
@given(st.lists(LINES, max_size=30), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_lines(lines: list[bytes], end: bytes) -> None:
    raw = end.join(lines)
    survives(MODEL, raw)
    if raw[:1] != b" ":  # a line that continues nothing
        assert marked(marked(raw, "spam 1.0"), "ham 0.0") == marked(raw, "ham 0.0")
