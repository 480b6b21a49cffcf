"""A fitted model in other languages, each written from one plain record: `portable.Scorer`."""

from tallybayes.export.onnx import to_onnx
from tallybayes.export.portable import Scorer, to_json
from tallybayes.export.python import to_python
from tallybayes.export.scorecard import scorecard_sql
from tallybayes.export.sql import to_sql

__all__ = ["Scorer", "scorecard_sql", "to_json", "to_onnx", "to_python", "to_sql"]
