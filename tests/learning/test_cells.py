"""The cells that corrections are learned for."""

from dataclasses import replace

import numpy as np

from tallybayes import datasets, learn, rows
from tallybayes.core.batch import Labels
from tallybayes.learning.cells import cells_of_columns
from tallybayes.learning.options import Options


def test_all_columns_are_corrected_or_those_that_are_named() -> None:
    table = datasets.penguins()
    model = learn(table, "species", Options(classical=True))
    batch = rows(model, {name: values for name, values in table.items() if name != "species"})
    batch = replace(batch, labels=Labels.hard(np.zeros(batch.n_rows, dtype=np.int32)))
    for names in (None, model.schema.names[-2:]):
        found = cells_of_columns(model, batch, Options(), names)
        assert found is not None
        assert [column.name for column in found.columns] == list(names or model.schema.names)
