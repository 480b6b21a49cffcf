"""What a report shows, as one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tallybayes.core.evaluation import Evaluation
from tallybayes.core.schema import Column, Level, plural
from tallybayes.inspection.charts import ColumnPicture, Concern, EvidenceShape, Importance
from tallybayes.inspection.explain import ProfileEntry
from tallybayes.inspection.verdict import Verdict


@dataclass(frozen=True)
class Content:
    """What a report shows, before it is drawn.

    Parameters
    ----------
    title : str
    target : str, optional
        Name of the column of labels.
    classes : tuple
    rows : tuple of float
        Weight of each class.
    prior : tuple of float
    columns : sequence of Column
    pictures : tuple of ColumnPicture
    shapes : tuple of EvidenceShape
        The evidence of the values of each column.
    importance : Importance
    concerns : tuple of Concern
    class_profiles : dict of class to tuple of ProfileEntry
    evaluation : Evaluation, optional
    settings : dict of str to str
    n_parameters : int
    scorer, controls : optional
        The parameters and the controls of the what-if form, as plain values.
    n_learned : int, optional
        Number of rows that the model has learned.
    verdict : Verdict, optional
        How good it is, in one sentence.
    typical : optional
        Typical rows of each class, for the what-if form.
    more : tuple
        Further sections, each with its id, its title and its content.
    """

    title: str
    target: str | None
    classes: tuple[Level, ...]
    rows: tuple[float, ...]
    prior: tuple[float, ...]
    columns: Sequence[Column]
    pictures: tuple[ColumnPicture, ...]
    shapes: tuple[EvidenceShape, ...]
    importance: Importance
    concerns: tuple[Concern, ...]
    class_profiles: dict[Level, tuple[ProfileEntry, ...]]
    evaluation: Evaluation | None
    settings: dict[str, str]
    n_parameters: int
    scorer: Any = None
    controls: Any = None
    n_learned: int | None = None
    verdict: Verdict | None = None
    typical: Any = None
    more: tuple[tuple[str, str, str], ...] = ()

    def __repr__(self) -> str:
        n_columns = sum(not column.is_derived for column in self.columns)
        size = f"{plural(n_columns, 'column')}, {plural(len(self.classes), 'class')}"
        return f"{type(self).__name__}({self.title!r}, {size})"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON, without the what-if form."""
        return {
            "title": self.title,
            "verdict": None if self.verdict is None else self.verdict.as_dict(),
            "target": self.target,
            "classes": [
                {"class": label, "rows": weight, "prior": p}
                for label, weight, p in zip(self.classes, self.rows, self.prior, strict=True)
            ],
            "columns": [{"name": c.name, "kind": c.kind, "why": c.reason} for c in self.columns],
            "pictures": [picture.as_dict() for picture in self.pictures],
            "shapes": [shape.as_dict() for shape in self.shapes],
            "importance": self.importance.as_dict(),
            "concerns": [concern.as_dict() for concern in self.concerns],
            "evidence": {
                str(label): [{"text": entry.text, "strength": entry.strength} for entry in entries]
                for label, entries in self.class_profiles.items()
            },
            "evaluation": None if self.evaluation is None else self.evaluation.as_dict(),
            "settings": self.settings,
            "n_parameters": self.n_parameters,
        }
