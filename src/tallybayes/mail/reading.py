"""Messages to documents, on all cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tallybayes.core.threads import cores
from tallybayes.mail.boxes import Loose, Note, Place
from tallybayes.mail.message import Reading, read

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

FEW = 300  # messages up to which starting other processes takes longer than reading
CHUNK = 32  # messages that a process reads at a time


@contextmanager
def documents(
    messages: Sequence[Place | Loose], n_jobs: int | None = None, note: Note = lambda text: None
) -> Iterator[Iterator[str]]:
    """The documents of messages, in their order.

    Where there are many, other processes begin to read them at once, not only when the first is requested; they stop
    when the context ends.

    Parameters
    ----------
    messages : sequence of Place or Loose
    n_jobs : int, optional
        Processes to read with; one for each core that this process may use if not given.
    note : callable, optional
        Called with a text for each message that cannot be read; it counts as what can be read of it.

    Yields
    ------
    iterator of str
        The tokens of a message, one a line.
    """
    n_jobs = n_jobs or cores()
    if n_jobs == 1 or len(messages) < FEW:
        yield _noted(messages, map(_read, messages), note)
        return
    from concurrent.futures import ProcessPoolExecutor  # a single delivery does without

    with ProcessPoolExecutor(n_jobs, _context()) as pool:
        try:
            yield _noted(messages, pool.map(_read, messages, chunksize=CHUNK), note)
        finally:
            pool.shutdown(cancel_futures=True)


def _context() -> BaseContext:
    """The quickest safe way to start processes.

    A process that has no threads, as that of the command has none, is copied as it is. Otherwise the copies come from
    a server that has none: a copy would lack the threads of this process, in the middle of their work.
    """
    import multiprocessing

    if sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1:
        return multiprocessing.get_context("fork")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "selectolax.lexbor"])
    return context


def _noted(messages: Sequence[Place | Loose], readings: Iterable[Reading], note: Note) -> Iterator[str]:
    for message, reading in zip(messages, readings, strict=True):
        if reading.trouble:
            note(f"{message} {reading.trouble}")
        yield reading.document


def _read(place: Place | Loose) -> Reading:
    try:
        return read(place.read())
    except OSError as error:  # it was there when the messages were listed
        return read(b"")._replace(trouble=f"cannot be read: {error.strerror}")
