"""What happens while rows are read and learned: a bar with the name of the phase, progress of DuckDB, and Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[float], None]  # called with the share that is done, between 0 and 1


class Bar:
    """A progress bar on the standard error: the phase, the share of it that is done, and the time since the start."""

    def __init__(self, bar: Any, rows: int | None) -> None:
        self._bar, self._rows, self._task = bar, rows, bar.add_task("", total=None, rate="")

    def __call__(self, share: float) -> None:
        """So much of the phase is done."""
        seconds = self._bar.tasks[0].elapsed or 0.0
        done = share * self._rows if self._rows else 0.0
        rate = f"{done:,.0f} rows, {done / seconds:,.0f} a second" if done and seconds else f"{share:.0%}"
        self._bar.update(self._task, total=1.0, completed=share, rate=rate)

    def phase(self, name: str, share: float | None = None) -> None:
        """Something else begins; without a share nobody knows how long it takes."""
        known: dict[str, Any] = {"total": None} if share is None else {"total": 1.0, "completed": share}
        self._bar.update(self._task, description=name, rate="", **known)


@contextmanager
def shown(first: str, rows: int | None = None) -> Iterator[Bar | None]:
    """Show a progress bar whose first phase has this name; None, and nothing is shown, where nobody looks."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30)),
        *(TextColumn("{task.fields[rate]}"), TimeElapsedColumn()),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        found = Bar(bar, rows)
        found.phase(first)
        yield found


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
