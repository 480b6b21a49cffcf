"""A ledger under attack: writers that are killed, many writers at once, and damaged files.

``python -m tests.storage.ledger_fuzz 200 8 2000`` is 200 kills while appending, eight writers at once and 2,000 damaged
files, as `scripts/fuzz-ledger` runs it.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tallybayes import Ledger, NaiveBayes
from tallybayes.errors import ModelFileError, TallybayesError

WORDS = ("red", "green", "blue")


def plan() -> Any:
    """A small model of numbers, categories and a pair."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(0, 1, 60).tolist(), rng.choice(WORDS, 60).tolist()
    label = ["yes" if s > 0 else "no" for s in size]
    return NaiveBayes(classical=True).fit({"size": size, "colour": colour, "label": label}, target="label")


def rows(number: int) -> dict[str, list[Any]]:
    """The rows of a batch; now and then one with a new level."""
    colour = f"new-{number}" if number % 50 == 0 else WORDS[number % 3]
    return {"size": [number % 17 / 4], "colour": [colour], "label": ["yes" if number % 2 else "no"]}


def append(path: Path | str, who: str, first: int, n: int, group: int, acknowledged: int) -> None:
    """Append batches, and write the number of each group to a pipe once it is on the disk."""
    with Ledger.open(path) as ledger, ledger.appending(every=group) as appender:
        done = 0
        for number in range(first, first + n):
            appender(rows(number), period=number // 40, key=f"{who}{number % 7}", batch_id=f"{who}/{number}")
            if len(appender.receipts) > done:
                done = len(appender.receipts)
                os.write(acknowledged, f"{first + done}\n".encode())
        appender.flush()
        os.write(acknowledged, f"{first + len(appender.receipts)}\n".encode())


def child(work: Callable[[], None]) -> int:
    """Run something in a copy of this process, which has everything loaded."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def kills(path: Path | str, n: int, seed: int = 0) -> tuple[int, int, int]:
    """Kill a writer so many times; return the batches acknowledged, those lost, and files found broken."""
    dice = random.Random(seed)
    Ledger.create(path, plan(), period="step").close()
    sure = lost = broken = 0
    following = 0
    for round_ in range(n):
        read, write = os.pipe()
        group = dice.choice((1, 5, 40))
        start = following
        pid = child(lambda: append(path, "w", start, 100_000, group, write))  # noqa: B023
        os.close(write)
        if dice.random() < 0.8:  # on a busy machine most would otherwise be killed before they began
            select.select([read], [], [], 10.0)
        time.sleep(dice.uniform(0.005, 0.12))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(read) as told:
            numbers = told.read().split()
        sure = max([sure, *map(int, numbers)])
        try:
            with Ledger.open(path) as ledger:
                there = {receipt.batch for receipt in ledger.receipts()}
                lost += sum(f"w/{number}" not in there for number in range(sure))
                following = len(there)
                assert there == {f"w/{number}" for number in range(following)}, "batches with gaps"
                if following:
                    assert ledger.model().provenance.rows == following
                if round_ % 20 == 19 or round_ == n - 1:
                    found = ledger.verify()
                    assert found.is_sound, found
        except (TallybayesError, AssertionError, sqlite3.Error):
            traceback.print_exc()
            broken += 1
    return sure, lost, broken


def writers(path: Path | str, n: int, batches: int) -> tuple[int, int]:
    """So many writers at once and a reader beside them; return the batches acknowledged and those lost."""
    Ledger.create(path, plan(), period="step").close()
    read, write = os.pipe()
    children = [
        child(lambda who=who: append(path, f"w{who}-", 0, batches, 1 + 3 * (who % 3), write)) for who in range(n)
    ]
    os.close(write)
    waiting = set(children)
    failed = 0
    with Ledger.open(path) as ledger:
        while waiting:
            done, status = os.waitpid(-1, os.WNOHANG)
            if done in waiting:
                waiting.discard(done)
                failed += status != 0
            seen = ledger.overview()["rows"]  # a reader is never blocked
            if seen:
                assert ledger.model().provenance.rows >= seen
            time.sleep(0.02)
        there = {receipt.batch for receipt in ledger.receipts()}
        assert ledger.verify().is_sound
        total = ledger.model().provenance.rows
    os.close(read)
    told = n * batches
    lost = sum(f"w{who}-/{number}" not in there for who in range(n) for number in range(batches))
    return told, lost + failed + abs(total - told)


# ------------------------------------------------------------------------------------------------ damaged files


def original(folder: Path) -> bytes:
    """A ledger with some of everything in it."""
    path = folder / "original.ledger"
    with Ledger.create(path, plan(), period="step") as ledger:
        with ledger.appending() as appender:
            for number in range(120):
                appender(rows(number), period=number // 4, key=f"k{number % 5}", batch_id=str(number))
        ledger.compact()
        ledger.forget("k1")
    return path.read_bytes()


def with_bytes(path: Path, dice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 1, 3, 20))):
        at = dice.randrange(len(data))
        kind = dice.randrange(4)
        if kind == 0:
            data[at] = dice.randrange(256)
        elif kind == 1:
            data[at : at + 4] = bytes(dice.choices((0, 255, 127), k=4))
        elif kind == 2:
            data = data[: max(at, 1)]
        else:
            size = dice.randrange(1, 300)
            data[at : at + size] = os.urandom(size)
    path.write_bytes(bytes(data))


VALUES: list[Any] = [None, 0, -1, 1, 2**40, 2**62, 1e300, float("nan"), "", "x", b"", b"\0" * 7, b"\xff" * 48, "[[]]"]


def with_field(path: Path, dice: random.Random) -> None:
    connection = sqlite3.connect(path)
    tables = {
        "meta": ["value"],
        "key": ["id", "name"],
        "level": ["place", "id", "value", "salt", "digest", "entry"],
        "cell": ["first", "addresses", "entry"],
        "entry": ["time", "action", "batch", "period", "key", "rows", "digest", "chain"],
        "content": ["period", "key", "flags", "cells", "amounts", "centred_cells", "centred", "losses", "salt"],
        "sums": ["span", "start", "page", "last", "flags", "owners", "cells", "amounts", "centred_cells", "centred"],
    }
    table = dice.choice(list(tables))
    column = dice.choice(tables[table])
    (n,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    try:
        where = f"LIMIT 1 OFFSET {dice.randrange(max(n, 1))}"
        name = {"meta": "name", "level": "rowid"}.get(table, "rowid")
        if table in ("meta", "level"):
            keys = connection.execute(f"SELECT * FROM {table} {where}").fetchone()
            first = "name = ?" if table == "meta" else "place = ? AND id = ?"
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {first}", (dice.choice(VALUES), *keys[: first.count("?")])
            )
        elif dice.randrange(6) == 0:
            connection.execute(f"DELETE FROM {table} WHERE {name} IN (SELECT {name} FROM {table} {where})")
        else:
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {name} IN (SELECT {name} FROM {table} {where})",
                (dice.choice(VALUES),),
            )
        connection.commit()
    except sqlite3.Error:
        pass
    connection.close()


def use(path: Path) -> str:
    """What becomes of a file: refused, found unsound, or sound; anything else is an exception."""
    try:
        with Ledger.open(path, wait=1.0) as ledger:
            verdict = "sound" if ledger.verify().is_sound else "unsound"
            for each in ({}, {"since": 3, "until": 20}, {"keys": ["k2", "k3"]}, {"half_life": 3}):
                model = ledger.model(**each)
                assert np.isfinite(model.tally.class_weight).all()
            ledger.add(rows(7), period=9, key="k2", batch_id="another")
            ledger.forget("k0")
            repr(ledger)
            return verdict
    except ModelFileError:
        return "refused"
    except (TallybayesError, PermissionError):
        return "refused otherwise"


def damage(folder: Path, seeds: Iterable[int]) -> tuple[Counter[str], list[str]]:
    """Damage files at random; the outcomes, and the failures in words."""
    data, found, failures = original(folder), Counter[str](), list[str]()
    path = folder / "damaged.ledger"
    for seed in seeds:
        dice = random.Random(seed)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(data)
        (with_bytes if seed % 2 else with_field)(path, dice)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found[use(path)] += 1
        except Exception as error:
            found["failed"] += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            failures.append(f"seed {seed}: {type(error).__name__} at {where}: {str(error)[:150]}")
    return found, failures


def main(n_kills: str = "200", n_writers: str = "8", files: str = "2000") -> int:
    folder = Path(tempfile.mkdtemp(prefix="tallybayes-ledger-"))
    try:
        sure, lost, broken = kills(folder / "kills.ledger", int(n_kills))
        print(f"{n_kills} kills: {sure:,} batches acknowledged, {lost} lost, {broken} broken files", flush=True)
        told, missing = writers(folder / "writers.ledger", int(n_writers), 200)
        print(f"{n_writers} writers: {told:,} batches acknowledged, {missing} lost", flush=True)
        found, failures = damage(folder, range(int(files)))
        print(f"{int(files):,} damaged files: {dict(found)}; {len(failures)} failures", *failures[:20], sep="\n")
        return int(bool(lost or broken or missing or failures))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
