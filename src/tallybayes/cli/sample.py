"""``tallybayes sample``: new rows from the model."""

from __future__ import annotations

import argparse

import numpy as np

from tallybayes.cli.screen import note, read_model
from tallybayes.core.schema import plural
from tallybayes.data.labels import is_missing
from tallybayes.data.writers import write_batches
from tallybayes.errors import SettingError
from tallybayes.inspection.sampling import sampled


def run(options: argparse.Namespace) -> None:
    """Sample rows and write them, the label last."""
    import pyarrow as pa

    if options.n < 1:
        raise SettingError(f"-n must be at least 1, not {options.n}")
    model, _ = read_model(options.model)
    columns, codes = sampled(model, options.n, np.random.default_rng(options.seed), options.missing)
    target = model.provenance.target or "class"
    labels = [model.schema.classes[code] for code in codes.tolist()]
    cells = {name: [None if is_missing(v) else v for v in values.tolist()] for name, values in columns.items()}
    table = pa.table({**cells, target: labels})
    write_batches(table.schema, iter(table.to_batches()), options.output, safe_csv=options.safe_csv)
    if options.output != "-":
        note(f"{plural(options.n, 'row')} written to {options.output}", options)
