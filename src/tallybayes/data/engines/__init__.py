"""Rows that stay where they are: DuckDB relations, Polars lazy frames, Ibis tables, Spark and Dask data frames.

All of them are asked in the words of narwhals. The questions are sums, minima, maxima and counts, grouped by the class
and perhaps a level or a bin; what comes back is as large as the tally. Numbers are cast to floats before they are
multiplied, and summed about a value amid them, so that 1e8 + noise keeps its noise in every engine.
"""

from tallybayes.data.engines.counting import count_lazy
from tallybayes.data.engines.parts import summed_tables
from tallybayes.data.engines.survey import centres, survey_lazy
from tallybayes.data.engines.table import Lazy, is_lazy

__all__ = ["Lazy", "centres", "count_lazy", "is_lazy", "summed_tables", "survey_lazy"]
