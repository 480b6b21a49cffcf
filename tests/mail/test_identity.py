"""Which message this is: the same in every folder and mailbox, and another where the sender wrote something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallybayes.mail.boxes import Loose, Place, file_name
from tallybayes.mail.identity import identify
from tallybayes.mail.marking import marked

from .letters import BROKEN, letter

RAW = (
    b"Received: by mx.example.org; Mon, 16 Nov 2026 04:00:00 +0100\nFrom: Ann\n <ann@example.com>\n"
    b"Date: Mon, 16 Nov 2026 01:00:00 +0000\nMessage-ID: <1@example.com>\nSubject: hello\n\nFrom here on\n\nFrom me\n"
)


@pytest.mark.parametrize(
    "same",
    [
        RAW.replace(b"\n", b"\r\n"),
        RAW + b"\n\n",
        marked(RAW, "spam 0.9"),
        b"From ann Mon Nov 16 03:00:00 2026\n" + RAW.replace(b"\nFrom me", b"\n>From me"),
        b"X-Status: RO\nX-UID: 17\n" + RAW,
        RAW.replace(b"Ann\n <", b"Ann <"),
        b"Received: by imap.example.org; Tue, 17 Nov 2026 04:00:00 +0100\n" + RAW,
    ],
)
def test_a_message_is_the_same_wherever_it_lies(same: bytes) -> None:
    assert identify(same).key == identify(RAW).key


@pytest.mark.parametrize(
    "other",
    [RAW.replace(b"<1@", b"<2@"), RAW.replace(b"here", b"there"), RAW.replace(b"01:00", b"02:00"), b"", RAW[:99]],
)
def test_another_message_is_another(other: bytes) -> None:
    assert identify(other).key != identify(RAW).key


def test_the_time_is_that_of_the_last_host() -> None:
    assert identify(RAW).time == 1794798000.0
    assert identify(RAW.partition(b"\n")[2]).time == 1794790800.0
    assert identify(b"Date: Mon, 1 Jan 2190 00:00:00 +0000\n\n").time is None
    assert identify(b"Date: yesterday\n\n").time is None
    assert identify(b"Date: Mon, 1 Jan 1900 00:00:00 +9999999\n\n").when(5.0) == 5.0


def test_broken_messages_have_an_identity_too() -> None:
    assert all(len(identify(raw).key) == 16 for raw in BROKEN.values())
    assert identify(b"Subject: a\n\nx").key != identify(b"Subject: b\n\nx").key


def test_files_of_a_maildir_are_known_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "cur").mkdir()
    for flags in ("", ":2,S"):
        path = tmp_path / "cur" / f"1794798000.M1P2.host{flags}"
        path.write_bytes(letter("ham", 1))
        assert file_name(Place(str(path))) == "maildir:1794798000.M1P2.host"
    path = tmp_path / "1.eml"
    path.write_bytes(letter("ham", 1))
    first = file_name(Place(str(path)))
    path.write_bytes(letter("ham", 12))
    assert first != file_name(Place(str(path)))
    assert file_name(Place(str(path), 2)) is None
    assert file_name(Loose("-", b"")) is None
