"""Timing in turn, and a table of what came out."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from time import perf_counter
from typing import Any, Literal

import numpy as np

Unit = Literal["s", "MB", "exponent", "share", "messages"]


@dataclass(frozen=True)
class Row:
    """One line of the table: a piece of work, what it took and what it may take."""

    work: str
    peer: float | None
    ours: float
    ratio: float | None = None
    target: str = ""
    ok: bool | None = None
    unit: Unit = "s"
    note: str = ""

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}×" if self.ratio < 10 else f"{self.ratio:.1f}×"
        verdict = "" if self.ok is None else "ok" if self.ok else "MISS"
        numbers = f"{amount(self.peer, self.unit):>11} {amount(self.ours, self.unit):>11} {ratio:>8} {self.target:>10}"
        return f"{self.work:<58} {numbers} {verdict:>5}  {self.note}".rstrip()


def faster(work: str, peer: float, ours: float, at_least: float | None, note: str = "") -> Row:
    """Work that a peer does too: the ratio says how many times faster ours is."""
    ratio = peer / ours
    if at_least is None:
        return Row(work, peer, ours, ratio, note=note)
    return Row(work, peer, ours, ratio, f"≥ {at_least:g}×", ratio >= at_least, note=note)


def cost(work: str, yardstick: float, ours: float, at_most: float | None = None, note: str = "") -> Row:
    """Work held against a simpler one: the ratio says how many times longer ours takes."""
    ratio = ours / yardstick
    if at_most is None:
        return Row(work, yardstick, ours, ratio, note=note)
    return Row(work, yardstick, ours, ratio, f"≤ {at_most:g}×", ratio <= at_most, note=note)


def limit(work: str, peer: float | None, ours: float, at_most: float, unit: Unit = "s", note: str = "") -> Row:
    """Work with a fixed allowance."""
    word = "" if unit == "exponent" else f" {unit}"
    return Row(work, peer, ours, None, f"≤ {at_most:g}{word}", ours <= at_most, unit, note)


def amount(value: float | None, unit: Unit) -> str:
    """A number with its unit, in about three digits."""
    if value is None:
        return ""
    if unit == "exponent":
        return f"size^{value:.2f}"
    if unit == "share":
        return f"{value:.3f}"
    if unit == "messages":
        return f"{value:,.0f}"
    if unit == "MB":
        return f"{value:,.1f} MB"
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value:.4f} s" if value < 0.1 else f"{value:.3f} s"


@dataclass(frozen=True)
class Bench:
    """How a benchmark is run: how often, and at which size."""

    repeat: int
    quick: bool

    def size(self, full: int) -> int:
        """Number of rows to use where the full run has so many."""
        return max(full // 50, 100) if self.quick else full

    def best(
        self, *works: Callable[[], Any], loops: int = 1, repeat: int | None = None
    ) -> tuple[list[float], list[Any]]:
        """Run the works in turn, several times; answers the best seconds and the last result of each."""
        seconds, results = [float("inf")] * len(works), [None] * len(works)
        for _ in range(repeat or self.repeat):
            for i, work in enumerate(works):
                results[i] = None  # free it before its successor is made
                start = perf_counter()
                for _ in range(loops):
                    results[i] = work()
                seconds[i] = min(seconds[i], (perf_counter() - start) / loops)
        return seconds, results

    def run(self, sections: Iterable[Callable[[Bench], Iterator[Row]]]) -> None:
        """Print the table, a line as soon as it is known, and how many targets were missed."""
        names = ("tallybayes", "scikit-learn", "numpy")
        print(f"# Python {platform.python_version()}, {', '.join(f'{n} {version(n)}' for n in names)}; ", end="")
        load = f" (load {os.getloadavg()[0]:.1f} before the start)" if hasattr(os, "getloadavg") else ""
        print(f"{os.cpu_count()} cores{load}; best of {self.repeat}, in turn, in one process")
        if self.quick:
            print("# quick: small sizes; the targets are meant for the full ones")
        print(f"{'work':<58} {'peer':>11} {'ours':>11} {'ratio':>8} {'target':>10}")
        judged = missed = 0
        for section in sections:
            for row in section(self):
                print(row, flush=True)
                judged, missed = judged + (row.ok is not None), missed + (row.ok is False)
        met = "# every target met" if judged else "# no target was measured"
        print(f"# {missed} of the targets missed" if missed else met)


def agreement(peer: Any, ours: Any) -> str:
    """Hold the answers of both against each other; raises if they are not the same but for rounding."""
    if np.issubdtype(np.asarray(ours).dtype, np.floating):
        apart = float(np.abs(peer - ours).max())
        assert apart < 1e-9, f"probabilities differ by {apart:g}"
        return f"differ by {apart:.0e}"
    differing = int((peer != ours).sum())
    assert differing <= len(ours) * 1e-5, f"{differing} of {len(ours)} predictions differ"  # ties may fall either way
    return f"{differing} of {len(ours):,} differ"


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The p of seconds ~ size^p: the slope of the line through their logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def fresh(*arguments: str) -> str:
    """Run Python anew with these arguments; answers what it prints."""
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def megabytes(field: str) -> float:
    """Memory of this process: what it holds now (VmRSS) or held at its peak (VmHWM)."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024
    except FileNotFoundError:  # macOS knows only the peak, in bytes
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
