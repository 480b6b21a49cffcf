"""Draws from parts: the rows that all keys at once would give."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes.core import keys
from tallybayes.core.draws import LARGEST, Draw, Redraw, bound_for

CONTENTS = {  # how often the contents of a table come
    "all differ": np.ones(5000, dtype=np.int64),
    "few contents": np.array([3000, 1500, 400, 99, 1]),
    "a heavy one among many": np.array([2000, *np.ones(3000, dtype=np.int64)]),
    "up to twenty copies": np.arange(600) % 21,
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("most", [1, 40, 300, 6000])
def test_the_rows_with_the_smallest_keys_are_drawn_whatever_the_parts(name: str, most: int) -> None:
    content = np.repeat(np.arange(len(CONTENTS[name])), CONTENTS[name])
    content = np.random.default_rng(0).permutation(content)
    every = keys.RowKeys(keys.mixed(content // 2), keys.mixed(content + 10**6))  # some share the unit-free key
    bound = bound_for(most, len(content))
    expected = np.sort(keys.copy_keys(every))
    expected = expected[expected <= np.uint64(bound)]
    assert len(expected) >= min(most, len(content))
    for size in (100, 1777, len(content)):
        parts = [keys.RowKeys(*(each[i : i + size] for each in every)) for i in range(0, len(content), size)]
        draw = Draw(bound, len(content))
        found = [draw.drawn(part) for part in parts]
        again = draw.overlooked()
        if len(again):
            redraw = Redraw(bound, again)
            found += [redraw.drawn(part) for part in parts]
        np.testing.assert_array_equal(np.sort(np.concatenate([drawn for _, drawn in found])), expected)
        for (rows, _), part in zip(found, [*parts, *parts], strict=False):
            assert len(set(rows.tolist())) == len(rows) <= len(part.exact)


def test_few_rows_are_all_drawn() -> None:
    assert bound_for(100, 150) == LARGEST
    assert bound_for(100, 10_000) < LARGEST // 50
