"""The server: the same verdicts as the command, whatever clients do."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tallybayes.errors import DataError
from tallybayes.mail import database, filter, ledger, serve
from tallybayes.mail.client import MOST_BYTES, ask, is_trusted
from tallybayes.mail.identity import identify
from tallybayes.mail.message import document
from tallybayes.mail.scoring import ModelJudge, Scorer, Unusual, read_judge
from tallybayes.storage.lock import locked

from .letters import BROKEN, letter

ITEMS = [
    ledger.Item(identify(letter(kind, n)), document(letter(kind, n)), label)
    for label, kind in enumerate(("ham", "spam"))
    for n in range(110)
]


@pytest.fixture
def path() -> Iterator[Path]:
    """A trained filter, in a directory whose name is short enough for a socket."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "mail.tally"
        with ledger.opened(path) as book:
            book.fit(0.001, book.learn(ITEMS))
        yield path


@pytest.fixture
def server(path: Path) -> Iterator[serve.Server]:
    with serve.listening(str(path), f"{path}.sock") as found:
        thread = threading.Thread(target=found.serve, daemon=True)
        thread.start()
        yield found
        found.listener.close()


def answer(path: Path, raw: bytes, **request: Any) -> dict[str, Any] | None:
    return ask(f"{path}.sock", request, raw)


def until(true: Callable[[], bool], seconds: float = 300.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def test_verdicts_are_those_of_the_model(path: Path, server: serve.Server) -> None:
    model = database.read(path)
    for raw in [*(letter(kind, n) for kind in ("spam", "ham") for n in range(300, 310)), *list(BROKEN.values())[:30]]:
        (want,) = filter.classify(model, [document(raw[:MOST_BYTES])])
        got = answer(path, raw)
        assert got is not None
        assert (got["label"], got["known"]) == (want.label, want.known)
        assert got["probability"] == pytest.approx(want.probability, rel=1e-12, abs=1e-15)


def test_the_quick_reader_is_the_model(path: Path) -> None:
    quick, model = Scorer.read(path), database.read(path)
    assert quick.thresholds == filter.thresholds_of(model)
    documents = [document(letter(kind, n)) for kind in ("spam", "ham") for n in range(300, 400)]
    for one, other in zip(documents, filter.classify(model, documents), strict=True):
        mine = quick.classify(one)
        assert (mine.label, mine.known) == (other.label, other.known)
        assert mine.probability == pytest.approx(other.probability, rel=1e-12, abs=1e-15)


def test_a_file_that_is_unusual_is_read_as_a_model(path: Path) -> None:
    from dataclasses import replace

    from tallybayes import storage

    model = database.read(path)
    storage.write(replace(model, settings=replace(model.settings, calibration=None)), path)
    with pytest.raises(Unusual):
        Scorer.read(path)
    assert isinstance(read_judge(path), ModelJudge)
    data = path.read_bytes()
    for cut in (0, 7, 8, 100, 3000, len(data) - 100):
        path.write_bytes(data[:cut])
        with pytest.raises(Unusual):
            Scorer.read(path)
    with pytest.raises(DataError, match="there is no database"):
        Scorer.read(path.with_name("none"))


def test_thresholds_of_the_client_count(path: Path, server: serve.Server) -> None:
    raw = letter("ham", 500)
    assert (answer(path, raw) or {})["label"] == "ham"
    assert (answer(path, raw, ham_below=0.0) or {})["label"] == "unsure"
    assert (answer(path, raw, spam_from=0.0) or {})["label"] == "spam"
    assert answer(path, raw, spam_from="much") is None
    assert answer(path, raw, spam_from=0.2, ham_below=0.5) is None
    assert answer(path, raw, database="/another/mail.tally") is None


def test_a_changed_database_is_read_again(path: Path, server: serve.Server) -> None:
    raw = b"Subject: aardvark\n\nabracadabra\n"
    before = (answer(path, raw) or {})["known"]
    ledger.change(path, lambda book: book.learn([ledger.Item(identify(raw), document(raw), 1)]))
    assert (answer(path, raw) or {})["known"] > before
    path.unlink()
    assert answer(path, raw) is None  # the client does the work, and gives the error
    assert answer(path, raw) is None


def test_bad_clients_do_not_matter_to_others(path: Path, server: serve.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "REQUEST", 0.5)
    bad = [
        b"", b"\n", b"nonsense\n", b"[]\n", b"{}\n", b'{"size": -1}\n', b'{"size": 1e99}\n', b'{"size": true}\n',
        b'{"size": 99999999999}\n', b'{"size": 10}\nabc', b"x" * 200_000, b"[" * 60_000 + b"\n", b"\xff\xfe\n",
    ]  # fmt: skip
    for sent in bad:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{path}.sock")
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            reply = client.recv(1 << 16)
            assert not reply or "error" in json.loads(reply)
    slow = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for client in slow:
        client.connect(f"{path}.sock")
        client.sendall(b'{"size": 1000}\nabc')  # and then nothing
    assert answer(path, letter("ham", 500)) is not None
    assert until(lambda: server.places._value == serve.MOST_CLIENTS)  # all of them were sent away
    for client in slow:
        client.close()
    assert answer(path, letter("ham", 500)) is not None


def test_more_clients_than_places_do_the_work_themselves(path: Path, server: serve.Server) -> None:
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(serve.MOST_CLIENTS)]
    for client in waiting:
        client.connect(f"{path}.sock")
    assert until(lambda: server.places._value == 0)
    assert answer(path, letter("ham", 500)) is None
    for client in waiting:
        client.close()
    assert until(lambda: answer(path, letter("ham", 500)) is not None)


def test_a_huge_message_is_read_to_its_limit(path: Path, server: serve.Server) -> None:
    assert answer(path, letter("spam", 500) + b"free money " * 2_000_000) is not None


def test_sure_messages_are_learned_together_and_under_the_lock(path: Path, server: serve.Server) -> None:
    sure = {"autolearn_spam": 0.9, "autolearn_ham": 0.1}
    before = database.read(path).tally.class_weight.sum()
    with locked(path):  # whoever else changes the filter is waited for
        for n in range(600, 610):
            assert answer(path, letter("spam", n), **sure) is not None
            assert answer(path, letter("spam", n), **sure) is not None  # delivered twice
        time.sleep(0.2)
        assert database.read(path).tally.class_weight.sum() == before
    assert until(lambda: database.read(path).tally.class_weight.sum() == before + 10)
    with ledger.opened(path) as book:
        assert book.memory is not None
        assert sum(one.automatic for one in book.memory.counted()) == 10


def test_the_socket_is_the_owners(path: Path, server: serve.Server) -> None:
    assert os.stat(f"{path}.sock").st_mode & 0o777 == 0o600
    assert is_trusted(f"{path}.sock", path)
    assert not is_trusted(str(path), path)  # no socket
    assert not is_trusted(f"{path}.none", path)


def test_one_server_at_a_time(path: Path, server: serve.Server) -> None:
    def another() -> None:
        with serve.listening(str(path), f"{path}.sock"):
            pass

    with ThreadPoolExecutor(1) as pool, pytest.raises(DataError, match="a server is running at"):
        pool.submit(another).result()
    assert answer(path, letter("ham", 500)) is not None


def test_what_is_in_the_way_of_the_socket(path: Path) -> None:
    place = f"{path}.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(place)  # a server that was killed leaves its socket
    with serve.listening(str(path), place):
        pass
    assert not os.path.exists(place)
    Path(place).write_text("precious")
    with pytest.raises(DataError, match="is in the way of the socket"), serve.listening(str(path), place):
        pass
    assert Path(place).read_text() == "precious"
    with pytest.raises(DataError, match="too long for a socket"), serve.listening(str(path), place + "x" * 200):
        pass


def test_a_server_that_says_nothing_is_not_waited_for(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{path}.sock")
        silent.listen(5)
        assert ask(f"{path}.sock", {}, letter("ham", 1), wait=0.3) is None
