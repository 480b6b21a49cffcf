"""Messages to documents and identities, on all cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tallybayes.core.threads import cores
from tallybayes.mail.boxes import Loose, Note, Place
from tallybayes.mail.identity import Identity, identify
from tallybayes.mail.message import Reading, read

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

FEW = 300  # messages up to which starting other processes takes longer than reading
CHUNK = 32  # messages that a process reads at a time


class Known(NamedTuple):
    """A message as it is counted, and which it is."""

    identity: Identity
    document: str


@contextmanager
def documents(
    messages: Sequence[Place | Loose], n_jobs: int | None = None, note: Note = lambda text: None
) -> Iterator[Iterator[Known]]:
    """The documents of messages, in their order, and which messages they are.

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
    iterator of Known
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


def _noted(
    messages: Sequence[Place | Loose], readings: Iterable[tuple[Identity, Reading]], note: Note
) -> Iterator[Known]:
    for message, (identity, reading) in zip(messages, readings, strict=True):
        if reading.trouble:
            note(f"{message} {reading.trouble}")
        yield Known(identity, reading.document)


def _read(place: Place | Loose) -> tuple[Identity, Reading]:
    try:
        raw = place.read()
        return identify(raw), read(raw)
    except OSError as error:  # it was there when the messages were listed
        return identify(b""), read(b"")._replace(trouble=f"cannot be read: {error.strerror}")
