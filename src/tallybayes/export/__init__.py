"""A fitted model in other languages, each written from one plain record: `portable.Scorer`."""

from tallybayes.export.portable import Scorer, to_json
from tallybayes.export.python import to_python

__all__ = ["Scorer", "to_json", "to_python"]
