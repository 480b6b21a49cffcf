"""Many processes change one model file at once: command lines, a service, or both; nothing may be lost.

``python -m tests.end_to_end.concurrency 8 200`` is eight writers with 200 changes each, as `scripts/fuzz-concurrency`
runs it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tallybayes import storage

TOKEN = "no-secret-at-all-of-a-model-for-tests"
BASE = {"who": ["base", "base"] * 20, "size": [1.5, 2.5] * 20}
UNLEARNED = 5  # of so many changes, the last takes the row before it back


@dataclass(frozen=True)
class Outcome:
    """What the writers were told, and what the file holds."""

    acknowledged: Counter[str]  # rows of each writer
    found: Counter[str]

    @property
    def lost(self) -> int:
        """Rows that were acknowledged and are not there, or are there and should not be."""
        return sum(((self.acknowledged - self.found) + (self.found - self.acknowledged)).values())


def race(directory: Path, changes: int, command_lines: int, clients: int = 0) -> Outcome:
    """So many processes run ``update`` and ``unlearn`` and so many clients call the service, all on one file."""
    from tallybayes import NaiveBayes  # the writers need no scikit-learn, which takes a second to load

    path = directory / "model.tally"
    NaiveBayes(classical=True).fit({**BASE, "label": ["yes", "no"] * 20}, target="label").save(path)
    with served(path) if clients else nothing() as port:
        writers = [start("cli", f"c{n}", changes, path) for n in range(command_lines)]
        writers += [start("service", f"s{n}", changes, path, port) for n in range(clients)]
        told = Counter({"base": 40})
        for writer in writers:
            out, _ = writer.communicate()
            if writer.returncode:
                raise AssertionError(f"a writer failed:\n{out}")
            told.update(json.loads(out))
    return Outcome(+told, rows_by_writer(path))


def rows_by_writer(path: Path) -> Counter[str]:
    tally = storage.read(path).tally
    levels = tally.schema.columns[0].levels
    assert levels is not None
    counted = tally.select(["who"]).blocks["categorical"].summary.arrays()["count"].sum(axis=0)
    return +Counter({str(level): round(number) for level, number in zip(levels, counted.tolist(), strict=True)})


def start(kind: str, who: str, changes: int, path: Path, port: int = 0) -> subprocess.Popen[str]:
    code = "import sys; from tests.end_to_end import concurrency; concurrency.write(*sys.argv[1:])"
    arguments = [sys.executable, "-c", code, kind, who, str(changes), str(path), str(port)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def write(kind: str, who: str, changes: str, path: str, port: str) -> None:
    """One writer; prints how many of its rows were acknowledged."""
    change = by_command(path, who) if kind == "cli" else by_request(int(port))
    told = 0
    for n in range(int(changes)):
        verb = "unlearn" if n % UNLEARNED == UNLEARNED - 1 else "update"
        size = n - 1 if verb == "unlearn" else n
        change(verb, who, size)
        told += 1 if verb == "update" else -1
    print(json.dumps({who: told}))


def by_command(path: str, own: str):
    from tallybayes.cli import main

    def change(verb: str, who: str, size: int) -> None:
        rows = Path(f"{path}-{own}.csv")
        rows.write_text(f"who,size,label\n{who},{size}.25,yes\n")
        output, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
        try:
            code = main([verb, path, str(rows), "--quiet", "--wait", "300"])
        finally:
            sys.stdout.close()
            sys.stdout = output
        if code:
            raise SystemExit(f"{verb} ended with code {code}")

    return change


def by_request(port: int):
    def change(verb: str, who: str, size: int) -> None:
        body = json.dumps({"rows": [{"who": who, "size": size + 0.25}], "labels": ["yes"]})
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        for _ in range(20):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.request("POST", f"/models/model/{verb}", body, headers)
            answer = connection.getresponse()
            said = answer.read()
            connection.close()
            if answer.status != 503:
                break
        if answer.status != 200:
            raise SystemExit(f"{verb}: {answer.status} {said!r}")

    return change


@contextmanager
def served(path: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tallybayes.cli", "serve", str(path), "--learn", "--port", str(port), "--quiet"]
    server = subprocess.Popen(command, env={**os.environ, "TALLYBAYES_TOKEN": TOKEN})
    try:
        for _ in range(3000):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


@contextmanager
def nothing() -> Iterator[int]:
    yield 0


def main(writers: int = 8, changes: int = 200) -> None:
    """Run both races and print what was lost."""
    lost = 0
    for name, lines, clients in (("command lines", writers, 0), ("and a service", writers // 2, writers // 2)):
        with tempfile.TemporaryDirectory() as directory:
            began = time.monotonic()
            outcome = race(Path(directory), changes, lines, clients)
        lost += outcome.lost
        rows, seconds = sum(outcome.acknowledged.values()), time.monotonic() - began
        print(
            f"{name:14} {writers} × {changes} changes, {rows} rows acknowledged, {outcome.lost} lost ({seconds:.0f} s)"
        )
    raise SystemExit(1 if lost else 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
