"""Break messages in as many ways as asked for: ``python -m tests.mail.fuzz 50000 [DIRECTORY of messages]``.

Each must be read, judged, marked and learned without an error, in less than two seconds. Large ones, of one piece over
and over, must be read in time linear in their size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from math import inf
from time import perf_counter, process_time

from tallybayes.core.model import Model
from tallybayes.mail import filter
from tallybayes.mail.boxes import places, split
from tallybayes.mail.marking import marked
from tallybayes.mail.message import document, read
from tests.mail.letters import BROKEN, large, letter, mutated

SMALL = [raw for raw in BROKEN.values() if len(raw) < 100_000]
MADE = [letter(kind, n) for kind in ("spam", "ham") for n in range(20)]


def learned() -> Model:
    """A filter that knows the small mailbox."""
    model = filter.empty()
    for kind in ("spam", "ham"):
        model = filter.learn(model, [document(letter(kind, n)) for n in range(20)], kind)
    return model


def survives(model: Model, raw: bytes) -> float:
    """Do with a message what a filter does; returns the seconds of work that it took."""
    start = process_time()
    tokens, trouble = read(raw)
    assert not trouble, trouble
    assert b"".join(split(raw)) == raw
    (verdict,) = filter.classify(model, [tokens])
    assert 0.0 <= verdict.probability <= 1.0
    assert len(marked(raw, str(verdict))) > len(str(verdict))
    filter.unlearn(filter.learn(model, [tokens], "spam"), [tokens], "spam")
    return process_time() - start


LONGEST = 0.5  # seconds of work that a message of 1 MiB may take


def fuzz(seeds: range, pool: list[bytes], most: float = inf, tell: Callable[[str], None] = lambda text: None) -> float:
    """Try a broken message of each seed, none longer than so many seconds; returns the seconds of the slowest."""
    model, slowest = learned(), 0.0
    for seed in seeds:
        raw = mutated(pool, seed)
        try:
            seconds = survives(model, raw)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert seconds < most, f"seed {seed}: {seconds:.1f} s"
        if seconds > slowest:
            slowest = seconds
            tell(f"seed {seed}: {seconds:.3f} s, {len(raw):,} bytes")
        if seed % 1000 == 999:
            tell(f"{seed + 1:,} cases")
    return slowest


def seconds_to_read(raw: bytes, most: float = inf) -> float:
    """Seconds of work to read and mark a message, the best of three where it takes longer than it may."""
    best = inf
    for _ in range(3):
        start = process_time()
        reading = read(raw)
        assert not reading.trouble, reading.trouble
        marked(raw, "ham 0.0")
        best = min(best, process_time() - start)
        if best < most:
            break
    return best


def growth(sizes: tuple[int, ...] = (1 << 18, 1 << 19, 1 << 20), most: int = 8) -> list[tuple[str, list[float]]]:
    """The messages that take longest, and the seconds of each size."""
    times = {name: [seconds_to_read(raw, LONGEST)] for name, raw in large(sizes[-1])}
    slowest = sorted(times, key=lambda name: -times[name][0])[:most]
    for size in reversed(sizes[:-1]):
        for name, raw in large(size):
            if name in slowest:
                times[name].insert(0, min(seconds_to_read(raw) for _ in range(3)))
    return [(name, times[name]) for name in slowest]


def main(arguments: Iterable[str]) -> None:
    cases, *directories = arguments
    kinds = sum(1 for _ in large(100))
    print(f"{kinds} kinds of large messages; the slowest, in seconds at 256 KiB, 512 KiB and 1 MiB:")
    found = growth()
    for name, times in found:
        print(f"  {name:60} " + " ".join(f"{seconds:.3f}" for seconds in times), flush=True)
    real = [place.read() for place in places(directories)]
    start = perf_counter()
    slowest = fuzz(range(int(cases)), [*MADE, *SMALL, *real], 2.0, print)
    print(f"{int(cases):,} cases in {perf_counter() - start:.0f} s; the slowest took {slowest:.3f} s")
    assert found[0][1][-1] < LONGEST, found[0]


if __name__ == "__main__":
    main(sys.argv[1:])
