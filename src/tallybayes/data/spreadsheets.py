"""CSV that a spreadsheet opens as text: what begins like a formula gets an apostrophe.

Programs such as Excel and LibreOffice calculate a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after a tab
or a line end, and a formula can send the rest of the sheet elsewhere. Whoever wrote a row could have put one into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FORMULA = "^[=+\\-@\t\r\n＝＋－＠]"  # the wide forms are taken for the others in some locales


def harmless(schema: Any, batches: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """Record batches whose texts and column names a spreadsheet does not calculate; numbers stay as they are.

    Parameters
    ----------
    schema : pyarrow.Schema
    batches : iterator of pyarrow.RecordBatch

    Returns
    -------
    pyarrow.Schema, iterator of pyarrow.RecordBatch

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"name": ["=1+1", "Ann", None], "change": [-1.5, 2.0, 0.0]})
    >>> schema, batches = harmless(table.schema, iter(table.to_batches()))
    >>> pa.Table.from_batches(batches, schema).to_pydict()
    {'name': ["'=1+1", 'Ann', None], 'change': [-1.5, 2.0, 0.0]}
    """
    import pyarrow as pa

    texts = [i for i, field in enumerate(schema) if _is_text(field.type)]
    fields = [
        pa.field(_marked(pa.array([field.name]))[0].as_py(), pa.string() if i in texts else field.type)
        for i, field in enumerate(schema)
    ]
    safe = pa.schema(fields)

    def changed() -> Iterator[Any]:
        for batch in batches:
            columns = [_marked(column.cast(pa.string())) if i in texts else column for i, column in enumerate(batch)]
            yield pa.RecordBatch.from_arrays(columns, schema=safe)

    return safe, changed()


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _marked(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    begins = compute.match_substring_regex(column, FORMULA)
    return compute.if_else(begins, compute.binary_join_element_wise(pa.scalar("'"), column, ""), column)
