"""Learning from files and lazy tables.

`tally("loans.parquet", target="paid")` comes here, and so do `NaiveBayes.fit`, and the commands that learn. Files
are DuckDB's; relations, lazy frames, Ibis tables, Spark and Dask data frames are counted by their own engine.
"""

from tallybayes.data.file_tallies import (
    SAMPLE,
    Families,
    Learned,
    count_file,
    is_source,
    learn_file,
    open_source,
    recounted,
)
from tallybayes.data.known import as_learned, check_columns, labelled_rows, settled
from tallybayes.data.streaming import labelled, objects, tables, with_own_words, words_of
from tallybayes.data.tallies import is_table, tally_file, tally_table

__all__ = [
    "SAMPLE",
    "Families",
    "Learned",
    "as_learned",
    "check_columns",
    "count_file",
    "is_source",
    "is_table",
    "labelled",
    "labelled_rows",
    "learn_file",
    "objects",
    "open_source",
    "recounted",
    "settled",
    "tables",
    "tally_file",
    "tally_table",
    "with_own_words",
    "words_of",
]
