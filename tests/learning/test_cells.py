"""The cells that corrections are learned for."""

from dataclasses import replace

import numpy as np
import pytest

from tallybayes import datasets, learn, rows
from tallybayes.core.batch import Labels
from tallybayes.learning import cells
from tallybayes.learning.options import Options


def test_of_many_columns_the_informative_ones_are_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    table = datasets.penguins()
    model = learn(table, "species", Options(classical=True))
    batch = rows(model, {name: values for name, values in table.items() if name != "species"})
    batch = replace(batch, labels=Labels.hard(np.zeros(batch.n_rows, dtype=np.int32)))
    alone = {name: float(i) for i, name in enumerate(model.schema.names[::-1])}
    every = cells.cells_of_columns(model, batch, Options(), dict)
    assert every is not None
    assert len(every.columns) == len(model.schema.columns)
    monkeypatch.setattr(cells, "MOST_COLUMNS", 2)
    found = cells.cells_of_columns(model, batch, Options(), lambda: alone)
    assert found is not None
    assert [column.name for column in found.columns] == list(model.schema.names[-2:])
