"""The chain of a ledger: an entry for everything that happened, each with a hash over itself and the one before.

Whoever notes down the hash of one entry can check later that nothing before it was changed. The content of a batch is
in the chain as a digest with a random salt; both are removed when its key is forgotten, so the digest that stays shows
nothing of the rows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

START = b"\0" * 32  # what stands before the first entry
SALT = 16  # bytes
_text = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class Entry:
    """What happened, as the chain has it."""

    number: int
    time: int  # microseconds since 1970
    action: str
    batch: str | None
    period: int | None
    key: str | None
    rows: int
    digest: bytes

    def chained(self, before: bytes) -> bytes:
        """The hash of this entry and of all before it."""
        parts: list[Any] = [self.number, self.time, self.action, self.batch, self.period, self.key, self.rows]
        return hashlib.sha256(before + _text([*parts, self.digest.hex()]).encode()).digest()


@dataclass(frozen=True)
class LedgerReceipt:
    """What a change of a ledger did, in numbers that can be checked.

    Parameters
    ----------
    number : int
        The number of the entry.
    time : str
        When it was written, in UTC.
    action : {"add", "forget"}
    key : str
    period : str or None
        Of a batch that was added.
    batch : str or None
        Its id.
    rows, batches : int
        How many were added or forgotten.
    digest : str
        Of what was counted, salted.
    chain : str
        The hash of this entry and of all before it: note it down, and `Ledger.verify` can tell that it is there.
    is_new : bool
        False where the batch had been added before: it counts once.
    """

    number: int
    time: str
    action: str
    key: str | None
    period: str | None
    batch: str | None
    rows: int
    batches: int
    digest: str
    chain: str
    is_new: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The receipt as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        what = {"add": "added", "forget": "forgotten"}.get(self.action, self.action)
        period = "" if self.period is None else f", period {self.period}"
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        if self.action == "forget":
            rows += f" in {self.batches:,} batch{'' if self.batches == 1 else 'es'}"
        known = "" if self.is_new else "; it was added before and counts once"
        return f"{what}: {rows}, key {self.key}{period}{known}\nentry {self.number}, {self.time}, chain {self.chain}"


@dataclass(frozen=True)
class Verification:
    """What `Ledger.verify` found.

    Parameters
    ----------
    entries, batches, forgotten : int
        Entries of the chain; batches whose content is there and has its digest; batches that were forgotten.
    head : str
        The hash of the last entry.
    problems : tuple of str
        What is wrong; empty where nothing is.
    """

    entries: int
    batches: int
    forgotten: int
    head: str
    problems: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing was changed."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        return asdict(self) | {"is_sound": self.is_sound}

    def __str__(self) -> str:
        found = f"{self.entries:,} entries, {self.batches:,} batches as they were added, {self.forgotten:,} forgotten"
        verdict = "sound" if self.is_sound else "NOT SOUND"
        return "\n".join([f"{verdict}: {found}", f"head {self.head}", *self.problems])


def moment(time: int) -> str:
    """A time in words."""
    seconds, micro = divmod(time, 1_000_000)
    return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds, microseconds=micro)).isoformat() + "Z"


def digest_of(parts: Iterable[bytes]) -> bytes:
    """A digest of several texts; where one ends and the next begins matters."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def content_digest(salt: bytes, flags: int, blobs: Sequence[bytes], losses: bytes) -> bytes:
    """The digest of the content of a batch."""
    return digest_of((salt, bytes([flags]), *blobs, losses))
