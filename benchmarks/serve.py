"""The service under load from a second process on the loopback: single rows, batches, and a soak.

``python -m benchmarks serve`` takes about three minutes; ``--soak 0`` leaves out the soak.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PORT, RATE, ROWS = 8917, 300, 10_000


def model_file(directory: str) -> tuple[Path, list[dict[str, Any]]]:
    """A mixed model of 12 columns and 3 classes, and rows to ask for."""
    from tallybayes import NaiveBayes

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    table: dict[str, Any] = {f"n{j}": (rng.normal(size=5000) + 0.4 * y * (j % 3)).round(3).tolist() for j in range(6)}
    table |= {f"c{j}": np.array(list("abcdef"))[(rng.integers(0, 6, 5000) + y) % 6].tolist() for j in range(6)}
    path = Path(directory, "bench.tally")
    NaiveBayes().fit(table, np.array(["low", "mid", "high"])[y]).save(path)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return path, rows


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def request(body: bytes) -> bytes:
    head = (
        f"POST /models/bench/predict HTTP/1.1\r\nHost: localhost:{PORT}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def load(bodies: list[bytes], rate: float, seconds: float, connections: int = 8) -> np.ndarray[Any, Any]:
    """Ask at a steady rate, whatever the answers take; latencies in ms from when each was due."""
    pairs = [await asyncio.open_connection("127.0.0.1", PORT) for _ in range(connections)]
    free: asyncio.Queue[Any] = asyncio.Queue()
    for pair in pairs:
        free.put_nowait(pair)
    took: list[float] = []

    async def ask(body: bytes, due: float) -> None:
        reader, writer = await free.get()
        writer.write(body)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took.append(1000 * (time.perf_counter() - due))
        free.put_nowait((reader, writer))

    start, tasks = time.perf_counter(), []
    for i in range(int(rate * seconds)):
        due = start + i / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(bodies[i % len(bodies)], due)))
    await asyncio.gather(*tasks)
    for _, writer in pairs:
        writer.close()
    return np.array(took)


def batches(rows: list[dict[str, Any]], repeats: int = 15) -> dict[str, float]:
    """Rows a second of batches, from before the JSON is made to after it is read; the best of several."""
    many = (rows * (ROWS // len(rows) + 1))[:ROWS]
    forms = {"rows": {"rows": many}, "columns": {"columns": {name: [row[name] for row in many] for name in many[0]}}}
    best = dict.fromkeys(forms, 0.0)
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    for _ in range(repeats):
        for name, form in forms.items():
            body = json.dumps(form).encode()
            start = time.perf_counter()
            connection.request("POST", "/models/bench/predict", body, {"Content-Type": "application/json"})
            answer = connection.getresponse().read()
            best[name] = max(best[name], ROWS / (time.perf_counter() - start))
            assert len(json.loads(answer)["predictions"]) == ROWS
    connection.close()
    return best


def run(arguments: list[str]) -> None:
    """Start the service, load it and print what it did."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve")
    parser.add_argument("--soak", type=float, default=120.0, help="seconds of the soak")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        path, rows = model_file(directory)
        command = [sys.executable, "-m", "tallybayes.cli", "serve", str(path), "--port", str(PORT), "--quiet"]
        server = subprocess.Popen(command)
        try:
            _wait()
            singles = [request(json.dumps({"row": row}).encode()) for row in rows[:500]]
            asyncio.run(load(singles, RATE, 2))  # warm
            took = asyncio.run(load(singles, RATE, 15))
            p50, p99, worst = np.percentile(took, [50, 99, 100])
            print(f"single rows at {RATE}/s: p50 {p50:.2f} ms, p99 {p99:.2f} ms, worst {worst:.1f} ms")
            for form, rate in batches(rows).items():
                print(f"batches of {ROWS:,} as {form}: {rate:,.0f} rows/s")
            if options.soak:
                before = resident(server.pid)
                asyncio.run(load(singles, RATE, options.soak / 2))
                middle = resident(server.pid)
                asyncio.run(load(singles, RATE, options.soak / 2))
                after = resident(server.pid)
                print(f"soak of {options.soak:.0f} s: {before:.1f} MB before, {middle:.1f} halfway, {after:.1f} after")
        finally:
            server.terminate()
            server.wait()


def _wait() -> None:
    for _ in range(100):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=1)
            connection.request("GET", "/health")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service did not start")
