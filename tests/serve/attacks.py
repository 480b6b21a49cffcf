"""Attack the service while a well-behaved client asks 20 times a second: ``python -m tests.serve.attacks [SECONDS]``.

For each attack the slowest percent of the client's requests, and the memory of the service beside what it was idle.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.servers import free_port

RATE = 20  # requests a second of the well-behaved client
PREDICT, EXPLAIN = "/models/model/predict", "/models/model/explain"
JSON = "application/json"
STRICT = 0.1, 2.0  # seconds of the 99th percentile, times the idle memory


def table(n: int = 300) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, n)
    words = np.array(["tea", "sun", "car", "fox", "free", "money", "offer", "meeting", "notes"])
    return {
        "size": (rng.normal(size=n) + codes).tolist(),
        "town": rng.choice(["rom", "bern"], n).tolist(),
        "note": [" ".join(rng.choice(words, 6)) + f" {k}{k}" for k in codes],
        "kind": np.array(["a", "b"])[codes].tolist(),
    }


ROW = json.dumps({"row": {"size": 1.5, "town": "rom", "note": "free tea"}}).encode()


# ---------------------------------------------------------------------------------------------- attacks


def keys(size: int) -> bytes:
    return b",".join(b'"%x":1' % i for i in range(size // 9))


def bodies() -> dict[str, list[tuple[str, str, bytes]]]:
    """What is posted over and over, by the name of the attack: path, type and body."""
    unknown = b'{"rows": [' + b",".join(b'{"%d": 1}' % i for i in range(6000)) + b"]}"
    words = b" ".join(b"word%x" % i for i in range(100_000))[:900_000]
    text = b'{"row": {"note": "' + words + b'"}}'
    return {
        "a column for each row": [(PREDICT, JSON, unknown)],
        "megabytes of text": [(PREDICT, JSON, text), (EXPLAIN, JSON, text), (PREDICT, JSON, text[:-3] * 5 + b'"}}')],
        "many keys": [
            (PREDICT, JSON, b'{"row": {' + keys(900_000) + b"}}"),
            (PREDICT, JSON, b'{"rows": [{' + keys(4_900_000) + b"}]}"),
        ],
        "many empty rows": [(PREDICT, JSON, b'{"rows": [' + b"{}," * 1_600_000 + b"{}]}")],
        "many numbers": [(PREDICT, JSON, b'{"columns": {"size": [' + b"0," * 2_400_000 + b"0]}}")],
        "nesting": [(PREDICT, JSON, b'{"row": ' + b"[" * 400_000 + b"]" * 400_000 + b"}")],
        "lines that end in CR": [(PREDICT, "text/csv", b"size\r" + b"1\r" * 4_000_000)],
    }  # fmt: skip


def status(port: int, method: str, path: str, body: bytes | None = None, kind: str = JSON) -> int:
    """Ask once; the status of the answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, body, {} if body is None else {"Content-Type": kind})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def post(port: int, requests: list[tuple[str, str, bytes]]) -> None:
    """Post them in turn, as fast as they are answered."""
    while True:
        for path, kind, body in requests:
            with suppress(OSError, http.client.HTTPException):
                status(port, "POST", path, body, kind)


def get(port: int, paths: list[str]) -> None:
    """Ask for pages in turn."""
    while True:
        for path in paths:
            with suppress(OSError, http.client.HTTPException):
                status(port, "GET", path)


def hold(port: int, beginning: bytes, number: int = 300) -> None:
    """Keep so many connections open that have sent no more than the beginning of a request."""
    held: list[socket.socket] = []
    while True:
        while len(held) < number:
            with suppress(OSError):
                held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                held[-1].sendall(beginning)
        time.sleep(0.2)
        alive = []
        for one in held:
            one.setblocking(False)
            try:
                gone = one.recv(1 << 16) == b""
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if not gone:
                alive.append(one)
            else:
                one.close()
        held = alive


def damage(path: str) -> None:
    """Write one bad model file after another in the place of the model."""
    whole = Path(path).read_bytes()
    for n in range(1 << 60):
        Path(f"{path}.next").write_bytes(whole[: n % len(whole)])
        os.replace(f"{path}.next", path)
        time.sleep(0.05)


def attacks(port: int, path: str) -> dict[str, list[tuple[Callable[..., None], Any]]]:
    """The attacks by name: what its processes run."""
    host = b" HTTP/1.1\r\nHost: localhost\r\n"
    length = b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    return {
        "none": [],
        **{name: [(post, (port, requests))] * 2 for name, requests in bodies().items()},
        "half-sent heads": [(hold, (port, b"POST " + PREDICT.encode() + host))],
        "half-sent bodies": [(hold, (port, b"POST " + PREDICT.encode() + host + length))],
        "pages": [(get, (port, ["/", "/docs", "/openapi.json", "/models/model/schema"]))] * 2,
        "bad model files": [(damage, (path,))],
    }


# ---------------------------------------------------------------------------------------------- the client


@dataclass(frozen=True)
class Found:
    """How the well-behaved client fared."""

    requests: int
    failed: int  # not answered, or not with 200
    p50: float  # seconds
    p99: float
    memory: float  # the most that the service had, in MiB


def memory(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def ask(port: int, pid: int, seconds: float) -> Found:
    """Ask 20 times a second; a request that has to wait for the one before it counts from when it was due."""
    took, failed, most, stop = list[float](), 0, [0.0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            most[0] = max(most[0], memory(pid))

    watching = threading.Thread(target=watch)
    watching.start()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begin = time.perf_counter()
    for n in range(int(seconds * RATE)):
        due = begin + n / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        for again in (True, False):
            try:
                connection.request("POST", PREDICT, ROW, {"Content-Type": JSON})
                answer = connection.getresponse()
                answer.read()
                failed += answer.status != 200
                break
            except (OSError, http.client.HTTPException):  # an idle connection may be closed; a client asks once more
                connection.close()
                failed += not again
        took.append(time.perf_counter() - due)
    connection.close()
    stop.set()
    watching.join()
    return Found(len(took), failed, float(np.quantile(took, 0.5)), float(np.quantile(took, 0.99)), most[0])


@contextmanager
def service(folder: str) -> Iterator[tuple[int, int, str]]:
    """A service as a process: its port, its number and the model file."""
    from tallybayes import NaiveBayes

    path, port = os.path.join(folder, "model.tally"), free_port()
    NaiveBayes(kind={"note": "text"}).fit(table(), target="kind").save(path)
    command = [sys.executable, "-m", "tallybayes.cli", "serve", path, "--port", str(port), "--quiet"]
    server = subprocess.Popen(command)
    try:
        for _ in range(3000):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.1)
        for asked, kind, body in ((PREDICT, JSON, ROW), (EXPLAIN, JSON, ROW), (PREDICT, "text/csv", b"size\n1\n")):
            assert status(port, "POST", asked, body, kind) == 200
        for page in ("/", "/docs"):
            assert status(port, "GET", page) == 200
        yield port, server.pid, path
    finally:
        server.terminate()
        server.wait(timeout=300)


def attacked(port: int, pid: int, seconds: float, work: list[tuple[Callable[..., None], Any]]) -> Found:
    """How the client fares while the attack runs in processes of its own."""
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=target, args=arguments, daemon=True) for target, arguments in work]
    for process in running:
        process.start()
    time.sleep(2.0 if running else 0.0)  # they need a moment to begin
    try:
        return ask(port, pid, seconds)
    finally:
        for process in running:
            process.kill()
            process.join()


def run(seconds: float, tell: Callable[[str], None], names: set[str] | None = None) -> dict[str, tuple[Found, float]]:
    """Try each attack; what the client found, and the idle memory before it."""
    found: dict[str, tuple[Found, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in attacks(0, ""):
            if names is not None and name not in names:
                continue
            with service(folder) as (port, pid, path):  # a new one each, whose memory nothing else has touched
                idle = memory(pid)
                result = attacked(port, pid, seconds, attacks(port, path)[name])
            found[name] = result, idle
            tell(
                f"{name:24} {result.requests} requests, {result.failed} failed, p50 {1e3 * result.p50:5.1f} ms, "
                f"p99 {1e3 * result.p99:5.1f} ms, memory {idle:.0f} → {result.memory:.0f} MiB"
            )
    return found


def main(seconds: str = "30", *names: str) -> int:
    found = run(float(seconds), lambda text: print(text, flush=True), set(names) or None)
    most_seconds, most_memory = STRICT
    bad = [n for n, (f, idle) in found.items() if f.failed or f.p99 > most_seconds or f.memory > most_memory * idle]
    print(f"{len(found)} attacks; beyond the bounds: {', '.join(bad) or 'none'}")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
