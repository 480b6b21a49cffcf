"""Messages learned, taken back and moved, each once: the model and the memory of a filter, changed together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import storage
from tallybayes.core import kernels
from tallybayes.core.batch import Batch, Documents, Encoded, Labels
from tallybayes.core.keys import add_texts
from tallybayes.core.model import Model
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import DataError, UnlearnError
from tallybayes.mail import database, filter
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.identity import Identity
from tallybayes.mail.memory import Memory, Remembered, memory_path
from tallybayes.mail.training import fitted
from tallybayes.storage.lock import WAIT, locked

HAM, SPAM = 0, 1  # codes of the classes
EMPTY = "empty"  # the state of a filter that has learned nothing


class Item(NamedTuple):
    """A message to be learned or taken back."""

    identity: Identity
    document: str  # its tokens, one a line
    label: int


@dataclass
class Ledger:
    """A filter while it is changed: the model, its memory, and what is to be changed there."""

    model: Model
    memory: Memory | None
    changes: dict[bytes, Remembered] = field(default_factory=dict)
    learned: int = 0
    moved: int = 0  # of the learned, those that were of the other class
    taken_back: int = 0

    # ------------------------------------------------------------------------------------------ what is known

    def known(self, items: Sequence[Item]) -> dict[bytes, Remembered]:
        """The remembered ones among some messages."""
        return {} if self.memory is None else self.memory.find({item.identity.key for item in items})

    def remembers_all(self) -> bool:
        """Whether every message of the model is remembered: not where it learned some without a memory."""
        return self.memory is not None and [*self.memory.count()] == self.model.tally.class_weight.tolist()

    # ------------------------------------------------------------------------------------------ changes

    def learn(self, items: Sequence[Item], automatic: bool = False, again: bool = True) -> Batch | None:
        """Learn messages, each once; one that was learned as the other class is taken back first.

        Parameters
        ----------
        items : sequence of Item
        automatic : bool
            Whether the filter's own verdict says so: then what a person said of a message stays.
        again : bool
            Whether to learn what was taken back because of its age.

        Returns
        -------
        Batch or None
            The rows that were learned.
        """
        known, back, new = self.known(items), list[Remembered](), list[Item]()
        for item in self._different(items):
            old = known.get(item.identity.key)
            if old is not None and old.is_counted:
                if old.label == item.label or automatic:
                    self._agree(old, automatic)
                    continue
                back.append(old)
            elif old is not None and not again:
                continue
            new.append(item)
        self.take_back(back)
        self.moved += len(back)
        self.taken_back -= len(back)
        return self._add(new, automatic) if new else None

    def _different(self, items: Sequence[Item]) -> Sequence[Item]:
        """Each message once, the last time it is given; without a memory all of them."""
        return items if self.memory is None else list({item.identity.key: item for item in items}.values())

    def _agree(self, old: Remembered, automatic: bool) -> None:
        if old.automatic and not automatic:  # a person says what the filter said
            self.changes[old.key] = old._replace(automatic=False)

    def move(self, items: Sequence[Item]) -> None:
        """Learn messages that were learned as the other class; those that are of this class already stay.

        Raises
        ------
        UnlearnError
            If one of them was not learned; then nothing is changed.
        """
        known = self.known(items)
        left = [item for item in self._different(items) if not _is_there(known.get(item.identity.key), item)]
        self.unlearn([item._replace(label=1 - item.label) for item in left])
        self.taken_back -= len(left)
        self.moved += len(left)
        if left:
            self._add(left, automatic=False)

    def _add(self, items: Sequence[Item], automatic: bool) -> Batch:
        batch = filter.rows((item.document for item in items), [filter.CLASSES[item.label] for item in items])
        self.model = self.model.learn(batch)
        self.learned += len(items)
        if self.memory is not None:
            now = time.time()
            for item, tokens in zip(items, _digests_of(batch), strict=True):
                key, when = item.identity.key, int(item.identity.when(now))
                self.changes[key] = Remembered(key, item.label, when, automatic, tokens)
        return batch

    def unlearn(self, items: Sequence[Item]) -> None:
        """Take messages back that were learned as a class.

        Raises
        ------
        UnlearnError
            If one of them was not; then nothing is changed.
        """
        known, unknown, whole = self.known(items), list[Item](), self.remembers_all()
        mine = dict[bytes, Remembered]()
        for item in items:
            old = known.get(item.identity.key)
            if old is not None and _is_there(old, item):
                mine[old.key] = old
            elif whole or (old is not None and old.is_counted):
                raise UnlearnError(not_learned(items, item, old))
            else:  # it may have been learned without a memory
                unknown.append(item)
        for label in (HAM, SPAM):
            documents = [item.document for item in unknown if item.label == label]
            if documents:
                self.model = filter.unlearn(self.model, documents, filter.CLASSES[label])
                self.taken_back += len(documents)
        self.take_back(list(mine.values()))

    def take_back(self, messages: Sequence[Remembered], keep: bool = False) -> None:
        """Take back remembered messages by their tokens; kept ones are known to have been taken back."""
        if not messages:
            return
        self.model = filter.without(self.model, remembered_rows(self.model, messages))
        self.taken_back += len(messages)
        for one in messages:
            self.changes[one.key] = one._replace(tokens=None) if keep else one._replace(label=None)

    # ------------------------------------------------------------------------------------------ calibration

    def fit(self, share: float, batch: Batch | None = None) -> MailEvaluation | None:
        """Fit calibration and cut-offs to all messages that people labelled; None where they are not remembered.

        Parameters
        ----------
        share : float
            The share of ham that may be called spam.
        batch : Batch, optional
            The rows of the messages in the order of the changes, where these are all there are.
        """
        if batch is not None and batch.n_rows == self.model.tally.class_weight.sum():
            times = [one.time for one in self.changes.values()] or None
            times = times if times and len(times) == batch.n_rows else None
            self.model, evaluation = fitted(self.model, batch, share, times)
            return evaluation
        if not self.remembered_after():
            return None
        messages = [one for one in self._all_after() if not one.automatic]
        self.model, evaluation = fitted(
            self.model, remembered_rows(self.model, messages), share, [one.time for one in messages]
        )
        return evaluation

    def remembered_after(self) -> bool:
        """Whether the memory will know every message of the model."""
        messages = self._all_after()
        counts = np.bincount([one.label or 0 for one in messages], minlength=2)
        return bool(messages) and counts.tolist() == self.model.tally.class_weight.tolist()

    def _all_after(self) -> list[Remembered]:
        before = [] if self.memory is None else self.memory.counted()
        kept = [one for one in before if one.key not in self.changes]
        return kept + [one for one in self.changes.values() if one.is_counted and one.label is not None]


@contextmanager
def opened(
    path: str | os.PathLike[str], wait: float = WAIT, remember: bool = True, fresh: bool = False
) -> Iterator[Ledger]:
    """Change a filter while no other process does; what the block changes is written when it ends well.

    Parameters
    ----------
    path : path
        The model file; it is created if it does not exist.
    wait : float
        Seconds to wait for the lock.
    remember : bool
        Whether messages are remembered. Otherwise an existing memory stays as it is.
    fresh : bool
        Whether to begin with an empty filter, whatever there is.

    Raises
    ------
    LockedError
        If another process holds the lock for longer.
    """
    Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
    with locked(path, wait):
        if fresh:
            _remove_memory(path)
        model = filter.empty() if fresh or not os.path.exists(path) else database.read(path)
        if not remember and not os.path.exists(memory_path(path)):
            ledger = Ledger(model, None)
            yield ledger
            storage.write(ledger.model, path)
            return
        if not os.path.exists(path):
            _remove_memory(path)
        with Memory.opened(path, states_of(model)) as memory:
            ledger = Ledger(model, memory if remember else None)
            yield ledger
            if ledger.model is model and not ledger.changes:
                return
            memory.prepare(ledger.changes.values(), states_of(ledger.model)[-1])
            storage.write(ledger.model, path)
            memory.finish()


def states_of(model: Model) -> tuple[str, ...]:
    """The states that a model has been in."""
    lineage = model.provenance.lineage or model.lineage
    return lineage.states or (EMPTY,)


def expire(path: str | os.PathLike[str], before: float, wait: float = WAIT) -> Ledger:
    """Take back the messages that arrived before a time.

    Raises
    ------
    DataError
        If the filter has no memory.
    """
    if not os.path.exists(memory_path(path)):
        raise DataError(f"{os.fspath(path)} has no memory of its messages, so none can be taken back")
    with opened(path, wait) as ledger:
        assert ledger.memory is not None
        ledger.take_back(ledger.memory.counted(before=before), keep=True)
    return ledger


def change(
    path: str | os.PathLike[str], do: Callable[[Ledger], object], wait: float = WAIT, remember: bool = True
) -> Ledger:
    """Open a filter, change it and write it."""
    with opened(path, wait, remember) as ledger:
        do(ledger)
    return ledger


# ---------------------------------------------------------------------------------------------- tokens by digest


def digests(words: Iterable[str]) -> NDArray[np.uint64]:
    """A number of 64 bits for each token."""
    texts = kernels.texts_of(list(words))
    found = np.zeros(len(texts), dtype=np.uint64)
    add_texts(found, texts, 0, 0)
    return found


def _digests_of(batch: Batch) -> Iterator[bytes]:
    """The digests of the tokens of each document, in order."""
    documents, words = batch.blocks[filter.BLOCK].x, batch.schema.columns[0].levels
    assert isinstance(documents, Documents)
    assert words is not None
    own = digests(str(word) for word in words)[documents.column]
    start = documents.start.tolist()
    for first, last in pairwise(start):
        yield np.sort(own[first:last]).astype("<u8").tobytes()


def remembered_rows(model: Model, messages: Sequence[Remembered]) -> Batch:
    """Remembered messages as rows of the words of a model.

    Raises
    ------
    UnlearnError
        If the model lacks one of the words: the memory is not of this model.
    """
    words = model.schema.columns[0].levels
    assert isinstance(words, Vocabulary)
    every = digests(words)
    order = np.argsort(every)
    own = [np.frombuffer(one.tokens or b"", dtype="<u8") for one in messages]
    wanted = np.concatenate(own) if own else np.zeros(0, dtype="<u8")
    at = np.minimum(np.searchsorted(every[order], wanted), max(len(every) - 1, 0))
    if len(wanted) and (not len(every) or not np.array_equal(every[order][at], wanted)):
        raise UnlearnError("the memory has words that the filter has not learned; nothing was changed")
    column = order[at].astype(np.int64) if len(wanted) else np.zeros(0, dtype=np.int64)
    start = np.concatenate(([0], np.cumsum([len(each) for each in own]))).astype(np.int64)
    for first, last in pairwise(start):
        column[first:last].sort()
    documents = Documents(np.ones(len(column)), column, start, len(words))
    codes = np.array([one.label for one in messages], dtype=np.int32)
    return Batch(model.schema, {filter.BLOCK: Encoded([0], documents)}, len(messages), Labels.hard(codes))


def _is_there(old: Remembered | None, item: Item) -> bool:
    return old is not None and old.is_counted and old.label == item.label


def not_learned(items: Sequence[Item], item: Item, old: Remembered | None) -> str:
    """Why a message cannot be taken back."""
    which = "this message was" if len(items) == 1 else "one of these messages was"
    label, other = filter.CLASSES[item.label], filter.CLASSES[1 - item.label]
    as_other = f" but as {other}" if old is not None and old.is_counted else ""
    return f"{which} not learned as {label}{as_other}, so nothing was changed"


def _remove_memory(path: str | os.PathLike[str]) -> None:
    for name in (memory_path(path), memory_path(path) + "-journal"):
        Path(name).unlink(missing_ok=True)
