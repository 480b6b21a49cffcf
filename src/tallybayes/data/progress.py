"""What happens while DuckDB works: progress, Ctrl-C and the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[float], None]  # called with the share that is done, between 0 and 1


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt while DuckDB works, as it is at any other time."""
    import duckdb

    try:
        yield
    except (RuntimeError, duckdb.InterruptException) as error:
        if isinstance(error, duckdb.InterruptException) or "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise


@contextmanager
def watched(connection: Any, size: int, progress: Progress | None) -> Iterator[None]:
    """Report the progress of a scan while it runs: by the bytes read, or by DuckDB's estimate."""
    if progress is None:
        yield
        return
    ended, start = threading.Event(), _bytes_read()

    def watch() -> None:
        while not ended.wait(0.1):
            now = _bytes_read()
            share = connection.query_progress() / 100 if now is None else (now - (start or 0)) / max(size, 1)
            progress(min(max(share, 0.0), 1.0))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _bytes_read() -> int | None:
    """Bytes that this process has read; only Linux counts them."""
    try:
        with open("/proc/self/io") as counters:
            return int(counters.readline().split()[1])
    except (OSError, IndexError, ValueError):
        return None
