"""Where messages lie."""

from __future__ import annotations

import gzip
import mailbox
import os
from pathlib import Path

import pytest

from tallybayes.data import datasets
from tallybayes.errors import DataError
from tallybayes.mail.boxes import places, split
from tallybayes.mail.message import document
from tallybayes.mail.reading import documents

from .letters import letter


def test_a_directory_of_files_and_what_is_no_message(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.eml").write_bytes(letter("ham", n))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "4").write_bytes(letter("spam", 4))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / ".hidden").write_bytes(letter("ham", 9))
    notes: list[str] = []
    found = places([tmp_path], notes.append)
    assert [os.path.relpath(str(place), tmp_path) for place in found] == ["0.eml", "1.eml", "2.eml", "below/4"]
    assert [os.path.relpath(note.split()[0], tmp_path) for note in notes] == ["empty", "picture.png"]
    assert all("is not a message; skipped" in note for note in notes)


def test_a_maildir_is_what_was_delivered(tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "Maildir")
    for n in range(3):
        box.add(letter("ham", n))
    key = next(iter(box.keys()))
    seen = box[key]
    seen.set_subdir("cur")
    box[key] = seen
    (tmp_path / "Maildir" / "tmp" / "half").write_bytes(letter("ham", 7))
    found = places([tmp_path / "Maildir"])
    assert sorted(place.read() for place in found) == sorted(letter("ham", n) for n in range(3))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_an_mbox_is_its_messages(tmp_path: Path, end: bytes) -> None:
    texts = [b"one\n\nFrom here on nothing new\n", b"two\n\nFrom me, at 10:30 in 2026\nwith regards\n", b"three\n"]
    envelope = b"From a@example.com Mon Nov 16 03:00:00 2026\n"
    data = b"\n".join(envelope + b"Subject: x\n\n" + text for text in texts).replace(b"\n", end)
    path = tmp_path / "box"
    path.write_bytes(data)
    found = places([path])
    assert [str(place) for place in found] == [f"{path}#{n}" for n in (1, 2, 3)]
    assert b"".join(place.read() for place in found) == data == b"".join(split(data))
    assert [place.read() for place in found] == split(data)


def test_a_message_alone_is_one_even_with_an_envelope(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_bytes(b"From a Mon Nov 16 03:00:00 2026\n" + letter("ham", 1))
    assert [str(place) for place in places([path])] == [str(path)]


def test_the_example_mailbox() -> None:
    for kind in ("spam", "ham"):
        assert len(places([datasets.mailbox(kind)])) == 12


def test_processes_do_not_change_the_documents(tmp_path: Path) -> None:
    for n in range(320):
        (tmp_path / f"{n:03}").write_bytes(letter("spam", n))
    found = places([tmp_path])
    want = [document(letter("spam", n)) for n in range(320)]
    for n_jobs in (1, 2):
        with documents(found, n_jobs) as read:
            assert [known.document for known in read] == want


def test_a_message_that_cannot_be_read_is_named_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        (tmp_path / f"{n}").write_bytes(letter("spam", n))
    found = places([tmp_path])
    (tmp_path / "1").unlink()

    def broken(raw: bytes) -> None:
        if raw == letter("spam", 2):
            raise ZeroDivisionError("unforeseen")
        return parsed(raw)

    from tallybayes.mail import message

    parsed = message.parsed
    monkeypatch.setattr(message, "parsed", broken)
    notes: list[str] = []
    with documents(found, 1, notes.append) as read:
        first, gone, odd = (known.document for known in read)
    assert first == document(letter("spam", 0))
    assert gone == document(b"")
    assert "type:unreadable" in odd.split("\n")
    assert {"from", "subject"} <= set(odd.split("\n"))  # the words of its bytes
    assert notes == [
        f"{tmp_path / '1'} cannot be read: No such file or directory",
        f"{tmp_path / '2'} read as plain text: ZeroDivisionError: unforeseen",
    ]


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        places(["no such file"])


def test_a_compressed_mailbox_is_not_taken_for_a_message(tmp_path: Path) -> None:
    (tmp_path / "box.gz").write_bytes(gzip.compress(letter("ham", 1)))
    with pytest.raises(DataError, match="compressed; unpack it first"):
        places([tmp_path / "box.gz"])
    notes: list[str] = []
    assert places([tmp_path], notes.append) == []
    assert len(notes) == 1
