"""A fitted model in other languages, each written from one plain record: `portable.Scorer`."""

from tallybayes.export.portable import Scorer, to_json

__all__ = ["Scorer", "to_json"]
