"""Devices, pipes and the standard output: what is written to as it is, and never replaced by a file."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")  # an open file of this process, such as that of >(gzip)
OUTPUTS = {"-": "stdout", "/dev/stdout": "stdout", "/dev/stderr": "stderr"}


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe, a socket or an open file of this process.

    Examples
    --------
    >>> is_stream("-"), is_stream(os.devnull), is_stream(__file__), is_stream("no-such-file")
    (True, True, False, False)
    """
    name = os.fspath(path)
    if name in OUTPUTS or NUMBERED.fullmatch(name):
        return True
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def passing_on(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to whose content goes on to a stream.

    A stream is not opened by its own name more than once: that would truncate what a shell has redirected.
    """
    with _sink(os.fspath(path)) as sink:
        if not os.path.isdir("/dev/fd"):  # Windows
            with tempfile.TemporaryDirectory() as directory:
                yield Path(directory, "output")
                with open(Path(directory, "output"), "rb") as written:
                    shutil.copyfileobj(written, sink)
            return
        receiving, sending = os.pipe()
        failures: list[OSError] = []

        def pass_on() -> None:
            with open(receiving, "rb", buffering=0) as pipe:
                try:
                    shutil.copyfileobj(pipe, sink)
                    sink.flush()
                except OSError as error:
                    failures.append(error)

        thread = threading.Thread(target=pass_on, daemon=True)
        thread.start()
        try:
            yield Path(f"/dev/fd/{sending}")
        finally:
            os.close(sending)
            thread.join()
            if failures:  # a full disk at the end of the pipe, not the pipe that broke
                raise failures[0]


@contextmanager
def _sink(name: str) -> Iterator[IO[bytes]]:
    """A stream, opened; those of the process stay open."""
    if name in OUTPUTS:
        yield getattr(sys, OUTPUTS[name]).buffer
        return
    numbered = NUMBERED.fullmatch(name)
    handle = os.dup(int(numbered[1])) if numbered else os.open(name, os.O_WRONLY)
    with open(handle, "wb", buffering=0) as sink:
        yield sink
