"""The models that are served: read from their files, read again when those change, written when rows are learned."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallybayes import report, storage
from tallybayes.core.model import Model
from tallybayes.errors import ModelFileError, SettingError
from tallybayes.storage import Saved
from tallybayes.storage.lock import locked

LOG = logging.getLogger("tallybayes.serve")
CHECK = 0.5  # seconds between two checks whether a file has changed


@dataclass(frozen=True)
class Loaded:
    """A model as it was read from its file."""

    model: Model
    saved: Saved | None
    stamp: tuple[int, ...]  # identifies the version of the file

    @property
    def target(self) -> str | None:
        """The column of labels in training."""
        return self.model.provenance.target


@dataclass
class Entry:
    """One file and the model that was last read from it."""

    name: str
    path: Path
    loaded: Loaded
    trouble: str | None = None  # why the file on the disk is not the model that is served
    checked: float = 0.0
    refused: tuple[int, ...] = ()  # a broken version, not to be read again and again
    page: tuple[Loaded, str] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    page_lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self, at_once: bool = False) -> Loaded:
        """The model, read again if its file has changed; a broken file leaves the old model in service."""
        now = time.monotonic()
        if now - self.checked < CHECK and not at_once:
            return self.loaded
        self.checked = now
        try:
            stamp = _stamp(self.path)
        except OSError as error:
            self._keep(f"{self.path.name}: {error.strerror}")
            return self.loaded
        if stamp not in (self.loaded.stamp, self.refused):
            with self.lock:
                self._reload(stamp)
        return self.loaded

    def _reload(self, stamp: tuple[int, ...]) -> None:
        if stamp == self.loaded.stamp:
            return
        try:
            self.loaded, self.trouble = _read(self.path), None
            LOG.info("%s was read again", self.path.name)
        except Exception as error:  # whatever the file is, what is served stays
            self.refused = stamp
            known = isinstance(error, (ModelFileError, OSError))
            self._keep(str(error) if known else f"{self.path.name}: {type(error).__name__}: {error}")

    def _keep(self, trouble: str) -> None:
        if trouble != self.trouble:
            LOG.warning("the model %s stays as it was: %s", self.name, trouble)
        self.trouble = trouble

    def change(self, work: Callable[[Model], tuple[Model, Any]]) -> Any:
        """Replace the model by the one that the work returns: one change at a time, on the disk before it is served."""
        with locked(self.path), self.lock:  # in this order: who only reads does not wait for other processes
            try:
                stamp = _stamp(self.path)
            except OSError:
                stamp = self.loaded.stamp  # the file is gone; writing brings it back
            if stamp not in (self.loaded.stamp, self.refused):
                self._reload(stamp)
            before = self.loaded
            model, record = work(before.model)
            saved = None if before.saved is None else before.saved.grown(model)
            storage.write(model, self.path, saved)
            self.loaded, self.trouble = Loaded(model, saved, _stamp(self.path)), None
            return record

    def html(self, service: str) -> str:
        """The what-if page of the model, made once for each version of it."""
        loaded = self.current()
        with self.page_lock:
            if self.page is None or self.page[0] is not loaded:
                made = report.make(loaded.model, title=self.name, target=loaded.target)
                self.page = loaded, made.html(service)
            return self.page[1]


class Store:
    """All models by name."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self.entries: dict[str, Entry] = {}
        for path in map(Path, paths):
            name = path.name.removesuffix(".tally")
            if name in self.entries:
                raise SettingError(f"two models have the name {name!r}; rename one of the files")
            self.entries[name] = Entry(name, path, _read(path))
        if not self.entries:
            raise SettingError("name at least one model file to serve")

    def troubles(self) -> dict[str, str]:
        """Why models are not those in their files, as of now."""
        for entry in self.entries.values():
            entry.current(at_once=True)
        return {name: entry.trouble for name, entry in self.entries.items() if entry.trouble is not None}


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> Loaded:
    stamp = _stamp(path)
    return Loaded(*storage.read_all(path), stamp)
