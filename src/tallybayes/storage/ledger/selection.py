"""Which part of a ledger is meant: periods, keys, and the state at an earlier time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.listings import short
from tallybayes.errors import ForgottenError, LedgerError, PeriodError, UnknownKeyError, nearest
from tallybayes.storage.ledger.chain import LedgerReceipt, moment
from tallybayes.storage.ledger.periods import Calendar
from tallybayes.storage.ledger.store import Store

LAST = 1 << 62  # later than every period and entry
MOST_KEY = 1000  # characters
MOST_SHOWN = 40  # … of a key in a message


def checked_key(key: Any) -> str:
    """A key, if it is one."""
    if not isinstance(key, str) or not key or len(key) > MOST_KEY or "\0" in key:
        raise LedgerError(f"a key is a text of 1 to {MOST_KEY:,} characters, not {str(key)[:40]!r}")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise LedgerError(f"the key {key!r} holds half a character") from None
    return key


def periods(calendar: Calendar, since: Any, until: Any) -> tuple[int, int]:
    """The first and the last period; ``until`` is included."""
    first = -LAST if since is None else calendar.range(since)[0]
    last = LAST if until is None else calendar.range(until)[1]
    if first > last:
        raise PeriodError(f"since {since} is after until {until}")
    return first, last


def key_mask(store: Store, known: Mapping[str, int], keys: Any, without: Any) -> NDArray[np.bool_] | None:
    """Which keys are meant, by number; None is all of them."""
    if keys is None and without is None:
        return None
    size = max(known.values(), default=0) + 1
    mask = np.zeros(size, dtype=bool)
    mask[_numbers(store, known, keys) if keys is not None else list(known.values())] = True
    if without is not None:
        mask[_numbers(store, known, without)] = False
    return mask


def _numbers(store: Store, known: Mapping[str, int], keys: Any) -> list[int]:
    """The numbers of keys; a text with ``*`` that is no key itself stands for all that match."""
    if isinstance(keys, str):
        keys = [keys]
    if not isinstance(keys, Collection) and not hasattr(keys, "__iter__"):
        raise LedgerError(f"keys must be a list of texts, not {keys!r}")
    found: list[int] = []
    for key in keys:
        if isinstance(key, str) and key in known:
            found.append(known[key])
        elif isinstance(key, str) and "*" in key:
            matching = [number for name, number in known.items() if fnmatchcase(name, key)]
            if not matching:
                raise UnknownKeyError(f"no key of the ledger matches {key!r}")
            found += matching
        else:
            refuse_unknown(store, known, key)
    return found


def refuse_unknown(store: Store, known: Mapping[str, int], key: Any) -> None:
    """Raise the error for a key that the ledger does not have, or not any more."""
    gone = store.one(
        "SELECT number, time FROM entry WHERE action = 'forget' AND key = ? ORDER BY number DESC", (str(key),)
    )
    if gone is not None:
        raise ForgottenError(f"the key {key!r} was forgotten already: entry {gone[0]}, {moment(gone[1])}")
    some = nearest(key, [short(name, MOST_SHOWN) for name in list(known)[:1000]], "it") if known else "it has none yet"
    raise UnknownKeyError(f"the ledger has no key {key!r}; {some}")


def entry_bound(store: Store, as_of: Any) -> int:
    """The last entry that was there at a time: a date (all of that day, UTC), a time, a receipt or its number."""
    if as_of is None:
        return LAST
    if isinstance(as_of, LedgerReceipt):
        as_of = as_of.number
    if isinstance(as_of, int) and not isinstance(as_of, bool):
        return min(max(as_of, 0), LAST)
    found = store.one("SELECT max(number) FROM entry WHERE time <= ?", (_until(as_of),))
    return 0 if found is None or found[0] is None else int(found[0])


def _until(as_of: Any) -> int:
    """A time in microseconds since 1970; of a day or an hour its last."""
    if isinstance(as_of, str) and len(as_of) > 13:
        try:
            as_of = dt.datetime.fromisoformat(as_of)
        except ValueError:
            raise PeriodError(f"{as_of!r} is no time; give a date, or one such as 2026-03-03T14:30:00") from None
    if isinstance(as_of, dt.datetime):
        moment = as_of if as_of.tzinfo is not None else as_of.replace(tzinfo=dt.UTC)
        return int(moment.timestamp() * 1_000_000)
    try:
        _, last = Calendar("hour").range(as_of)
    except PeriodError:
        raise PeriodError(f"{as_of!r} is no time; give a date, or one such as 2026-03-03T14:30:00") from None
    return (last + 1) * 3_600_000_000 - 1
