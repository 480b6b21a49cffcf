"""The server of the filter: verdicts over a Unix socket, without the start of a process for each message.

One thread waits for clients and each client has a thread of its own, for as long as a request may take. A client that
sends nonsense, too much or too slowly gets an error and is gone; others do not notice. The database is read again when
its file has changed. Messages that the filter learns by itself are collected and learned together, under the lock that
the command line uses.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import DataError, TallybayesError
from tallybayes.mail.client import MOST_BYTES, MOST_LINE
from tallybayes.mail.html import check_installed
from tallybayes.mail.identity import Identity, identify
from tallybayes.mail.message import read
from tallybayes.mail.scoring import Judge, read_judge
from tallybayes.mail.verdicts import Verdict
from tallybayes.storage.lock import LockedError, locked

REQUEST = 10.0  # seconds that a request may take
MOST_CLIENTS = 64  # at a time
MOST_WAITING = 10_000  # messages that wait to be learned
PAUSE = 1.0  # seconds in which messages to be learned are collected
LONGEST_PATH = 107  # bytes of the name of a socket

Log = Callable[[str], None]


@dataclass
class Filter:
    """The filter as its file is now."""

    path: str
    judge: Judge | None = None
    stamp: tuple[int, int, int] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self) -> Judge:
        """The filter, read again where the file was replaced."""
        with self.lock:
            try:
                found = os.stat(self.path)
                stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            except FileNotFoundError:
                stamp = None
            if self.judge is None or stamp != self.stamp:
                self.judge, self.stamp = read_judge(self.path), stamp
            return self.judge


class Learner(threading.Thread):
    """Learns the messages that the filter is sure of, together and in the background."""

    def __init__(self, path: str, log: Log) -> None:
        super().__init__(daemon=True)
        self.path, self.log = path, log
        self.waiting: queue.Queue[tuple[Identity, str, int] | None] = queue.Queue(MOST_WAITING)

    def run(self) -> None:
        """Learn until None comes."""
        ended = False
        while not ended:
            items = [self.waiting.get()]
            if items[0] is not None:
                time.sleep(PAUSE)
            with suppress(queue.Empty):
                while True:
                    items.append(self.waiting.get_nowait())
            ended = None in items
            self._learn([item for item in items if item is not None])

    def _learn(self, found: list[tuple[Identity, str, int]]) -> None:
        if not found:
            return
        from tallybayes.mail import ledger

        items = [ledger.Item(*each) for each in found]
        try:
            ledger.change(self.path, lambda book: book.learn(items, automatic=True))
        except (TallybayesError, OSError) as error:
            self.log(f"{len(items)} messages were not learned: {error}")

    def add(self, identity: Identity, document: str, label: int) -> None:
        """Learn a message later; where too many wait, not at all."""
        with suppress(queue.Full):
            self.waiting.put_nowait((identity, document, label))


class Refused(Exception):
    """A request that is none."""


@dataclass
class Server:
    """A server that is listening."""

    listener: socket.socket
    filter: Filter
    learner: Learner
    log: Log
    places: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_CLIENTS))

    def serve(self) -> None:
        """Answer clients until the socket is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError as error:
                if self.listener.fileno() < 0:
                    return
                self.log(f"a client could not be accepted: {error}")  # too many open files, for example
                time.sleep(0.1)
                continue
            if not self.places.acquire(blocking=False):
                client.close()  # it does the work itself
                continue
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        try:
            with client:
                _reply(client, self._answer(client))
        except (OSError, Refused):
            pass  # it is gone
        finally:
            self.places.release()

    def _answer(self, client: socket.socket) -> dict[str, Any]:
        try:
            request, raw = _received(client)
            return self.classify(request, raw).as_dict()
        except (TallybayesError, OSError, Refused) as error:
            return {"error": str(error)}
        except Exception as error:  # whatever a message does, the next one is answered
            self.log(f"{type(error).__name__}: {error}")
            return {"error": f"{type(error).__name__}: {error}"}

    def classify(self, request: dict[str, Any], raw: bytes) -> Verdict:
        """The verdict on a message; it is learned later where the client asks for it and the verdict is sure."""
        if request.get("database") not in (None, self.filter.path):
            raise Refused(f"this is the server of {self.filter.path}")
        judge = self.filter.current()
        thresholds = judge.thresholds.changed(_probability(request, "spam_from"), _probability(request, "ham_below"))
        document = read(raw).document
        verdict = judge.classify(document, thresholds)
        spam, ham = (_probability(request, name) for name in ("autolearn_spam", "autolearn_ham"))
        if spam is not None and ham is not None and (label := sure(verdict, spam, ham)) is not None:
            self.learner.add(identify(raw), document, label)
        return verdict


def sure(verdict: Verdict, spam: float, ham: float) -> int | None:
    """The class that a message is to be learned as by its own verdict; None where that is not sure enough."""
    if verdict.label == "spam" and verdict.probability >= spam:
        return 1
    return 0 if verdict.label == "ham" and verdict.probability <= ham else None


@contextmanager
def listening(database: str, path: str, mode: int = 0o600, log: Log = lambda text: None) -> Iterator[Server]:
    """A server on a Unix socket, for as long as the block lasts.

    Parameters
    ----------
    database : str
    path : str
        The socket; it must not exist, or be that of a server that has ended.
    mode : int
        Permissions of the socket: who may ask.
    log : callable, optional
        Called with a text for what goes wrong.

    Raises
    ------
    DataError
        If another server is running, or the path is something else.
    """
    check_installed()
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise DataError(f"{path} is too long for a socket; name a shorter one with --socket")
    try:
        with locked(f"{path}.server", wait=0.0), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            _bind(listener, path, mode)
            learner = Learner(database, log)
            learner.start()
            try:
                yield Server(listener, Filter(os.path.realpath(database)), learner, log)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(path)
                learner.waiting.put(None)
                learner.join()
    except LockedError:
        raise DataError(f"a server is running at {path} already") from None


def _bind(listener: socket.socket, path: str, mode: int) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise DataError(f"{path} is in the way of the socket; remove it, or name another one with --socket")
        os.unlink(path)  # the server that made it was killed
    mask = os.umask(0o777)  # nobody connects before the permissions are set
    try:
        listener.bind(path)
    finally:
        os.umask(mask)
    os.chmod(path, mode)
    listener.listen(MOST_CLIENTS)


def _received(client: socket.socket) -> tuple[dict[str, Any], bytes]:
    """The request and the message of a client, within the time that it has."""
    until = time.monotonic() + REQUEST
    data = bytearray()
    while b"\n" not in data:
        _receive(client, data, until)
        if len(data) > MOST_LINE and b"\n" not in data[:MOST_LINE]:
            raise Refused("the request has no end")
    line, _, rest = bytes(data).partition(b"\n")
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused("the request is no JSON") from None
    size = request.get("size") if isinstance(request, dict) else None
    if type(size) is not int or not 0 <= size <= MOST_BYTES:
        raise Refused(f"a request has the size of its message, at most {MOST_BYTES} bytes")
    message = bytearray(rest[:size])
    while len(message) < size:
        _receive(client, message, until)
    return request, bytes(message[:size])


def _receive(client: socket.socket, data: bytearray, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise Refused("the request took too long")
    client.settimeout(left)
    part = client.recv(1 << 18)
    if not part:
        raise Refused("the request ended early")
    data += part


def _reply(client: socket.socket, answer: dict[str, Any]) -> None:
    client.settimeout(REQUEST)
    client.sendall(json.dumps(answer).encode() + b"\n")


def _probability(request: dict[str, Any], name: str) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise Refused(f"{name} is a probability")
    return float(value)
