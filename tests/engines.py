"""One table in every engine that can count it."""

import sqlite3
from contextlib import closing
from importlib.util import find_spec

import numpy as np
import polars as pl
from polars import selectors as cs

from tests.servers import needed

NAMES = (
    "dict", "pandas", "polars", "pyarrow", "parquet", "csv",
    "polars lazy", "duckdb", "ibis duckdb", "ibis sqlite", "postgres", "dask", "spark",
)  # fmt: skip
LAZY = NAMES[NAMES.index("polars lazy") :]


def mixed_frame(n=500, seed=0):
    """Numbers with an offset, integers of every width, missing values, texts that need quoting, weights and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    with_missing = pl.Series(rng.random(n) < 0.15)
    frame = pl.DataFrame(
        {
            "far": 1e8 + y + rng.normal(size=n),
            "apart": 1e6 * y + rng.normal(size=n) / 8,
            "i8": rng.integers(-128, 128, n).astype(np.int8),
            "i16": rng.integers(-3000, 3000, n).astype(np.int16),
            "i32": (rng.integers(0, 4, n) * 600_000_000).astype(np.int32),
            "u8": rng.integers(0, 256, n).astype(np.uint8),
            "u16": rng.integers(0, 65_536, n).astype(np.uint16),
            "f32": rng.normal(5, 1, n).astype(np.float32),
            "yes": rng.random(n) < 0.3 + 0.2 * y,
            "visits": rng.poisson(1 + y),
            "size": np.exp(rng.normal(y, 1.0, n)),
            "spent": np.where(rng.random(n) < 0.4, 0.0, np.exp(rng.normal(size=n) + y)),
            "town": [("Rome", "O'Hara", "a;b", 'say "hi"', "Zürich")[t] for t in rng.integers(0, 5, n)],
            "mood": [("bad", "fair", "good")[m] for m in (y + rng.integers(0, 2, n)) % 3],
            "same": np.full(n, 0.1),
            "worth": rng.integers(0, 4, n) / 4,
            "label": [("no", "it's", "maybe")[k] for k in y],
        }
    )
    gone = {
        name: pl.when(with_missing).then(None).otherwise(pl.col(name)).alias(name) for name in ("far", "yes", "town")
    }
    return frame.with_columns(*gone.values())


class Engines:
    """The frame as each engine holds it; what costs time is started when it is first asked for."""

    def __init__(self, frame, folder, request):
        self.frame, self.folder, self.request = frame, folder, request
        self.file = folder / "rows.parquet"
        frame.write_parquet(self.file)

    def __getitem__(self, name):
        return getattr(self, name.replace(" ", "_"))()

    def dict(self):
        return {name: self.frame[name].to_list() for name in self.frame.columns}

    def pandas(self):
        return self.frame.to_pandas()

    def polars(self):
        return self.frame

    def pyarrow(self):
        return self.frame.to_arrow()

    def parquet(self):
        return str(self.file)

    def csv(self):
        self.frame.write_csv(self.folder / "rows.csv")
        return str(self.folder / "rows.csv")

    def polars_lazy(self):
        return pl.scan_parquet(self.file)

    def duckdb(self):
        import duckdb

        return duckdb.connect().sql(f"FROM '{self.file}'")

    def ibis_duckdb(self):
        needed("ibis", find_spec("ibis"))
        import ibis

        return ibis.duckdb.connect().read_parquet(self.file)

    def ibis_sqlite(self):
        needed("ibis", find_spec("ibis"))
        import ibis

        path = self.folder / "rows.db"
        if not path.exists():
            with closing(sqlite3.connect(path)) as connection:
                self.frame.to_pandas().to_sql("rows", connection, index=False)
        return ibis.sqlite.connect(path).table("rows")

    def postgres(self):
        needed("ibis", find_spec("ibis"))
        import ibis

        server = self.request.getfixturevalue("postgres")
        connection = ibis.postgres.connect(host=server["host"], user=server["user"], database=server["dbname"])
        name = f"rows_{len(connection.list_tables())}"
        return connection.create_table(name, self.plain())

    def plain(self):
        """Without unsigned and very short integers, which databases lack."""
        return self.frame.with_columns(cs.by_name("i8", "u8", "u16", require_all=False).cast(pl.Int32)).to_arrow()

    def dask(self):
        client = self.request.getfixturevalue("dask_client")
        assert client is not None
        import dask.dataframe as dd

        truths = dict.fromkeys(self.frame.select(cs.boolean()).columns, "boolean")
        return dd.from_pandas(self.frame.to_pandas().astype(truths), npartitions=4)

    def spark(self):
        return self.request.getfixturevalue("spark").read.parquet(str(self.file))
