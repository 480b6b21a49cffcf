"""The verbs that write a model down in another language, for everything that is or has a `Model`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Exports:
    """Methods of models and fitted estimators; `tallybayes.export`, which does the work, is imported when called."""

    def to_json(self, indent: int | None = None) -> str:
        """Return what the model does to a row, as JSON of a documented form that any language can evaluate.

        Parameters
        ----------
        indent : int, optional
            Blanks that a level of nesting is moved to the right by; without it everything is on one line.

        Returns
        -------
        str
        """
        return str(self._exported("to_json", indent))

    def _exported(self, name: str, *options: Any) -> Any:
        # By name: the layers above this one are not its business before somebody asks.
        return getattr(import_module("tallybayes.export"), name)(self, *options)
