"""How an estimator reads tables: its parameters become kinds, families and settings, its rows a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Labels
from tallybayes.core.family import for_columns
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.core.settings import Prior, Settings
from tallybayes.core.tally import count
from tallybayes.core.tokens import USUAL, Tokens
from tallybayes.data.columns import Overrides, grown, inferred, matched, split_target
from tallybayes.data.labels import row_weights
from tallybayes.data.tables import Table, TableBatch, read_table
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators._checks import check_lengths, check_target, coded
from tallybayes.families import (
    Categorical,
    Family,
    Gaussian,
    Hierarchical,
    Multinomial,
    Poisson,
    family_of,
    numeric_families,
)
from tallybayes.learning import refinement as planning
from tallybayes.learning.plan import Plan
from tallybayes.learning.smoothing import best_alpha


class ReadsTables(BaseNB):
    """Tables as `NaiveBayes` reads them; its docstring says what the parameters mean."""

    kind: Any
    family: Any
    tokens: Any
    drop: Any
    missing: Any
    unseen: Any
    min_count: float
    alpha: Any
    numeric: str
    weights: Any
    pairs: Any
    classical: bool
    var_smoothing: float
    variance: Any
    prior: Any
    prior_alpha: float
    strict: bool

    _plan: Plan  # what `planning` chose, if it did
    _target: str | None  # the name of the column that held the labels

    @property
    def schema_(self) -> Schema:
        """What each column is, and why."""
        return self.model_.schema

    # ------------------------------------------------------------------------------------------ rows

    def _split(self, X: Any, y: Any) -> tuple[Any, Any]:
        if not isinstance(y, str):
            return X, y
        self._target = y
        return split_target(X, y)

    def _some_rows(self, X: Any, rows: NDArray[Any], n_labels: int) -> Table:
        return self._read(X).take(rows)

    def _labelled(
        self, X: Any, y: Any, weight: Any, classes: NDArray[Any] | None, learning: bool = True, whole: bool = True
    ) -> tuple[TableBatch, NDArray[Any]]:
        if y is None and classes is not None:  # a fitted one knows which column it was
            y = getattr(self, "_target", None)
        if isinstance(y, str):  # the name of a column of the table
            self._target = y
            X, y = split_target(X, y)
        labels = check_target(y)
        table = self._read(X)
        check_lengths(table.n_rows, len(labels))
        if table.n_rows == 0 or not table.columns:
            raise ValueError(
                f"Found array with {table.n_rows} sample(s) and {len(table.columns)} feature(s) (shape="
                f"({table.n_rows}, {len(table.columns)})) while a minimum of 1 is required by {type(self).__name__}."
            )
        if hasattr(self, "model_"):
            table = self._matched(table)
            known = self.schema_.columns
            columns = grown(known, table, self.n_jobs) if learning else tuple(known)
        else:
            columns = inferred(table, self._overrides(), whole, self.n_jobs)
            self._made_by, self.n_features_in_ = table.made_by, len(columns)
            if table.named:
                self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        classes, codes = coded(labels, classes)
        encoded = Labels.hard(codes, row_weights(weight, table.n_rows))
        schema = Schema(columns, tuple(classes.tolist()))
        return TableBatch(schema, table, self._places(schema), encoded), classes

    def _rows(self, X: Any) -> TableBatch:
        check_is_fitted(self)
        table = self._read(X)
        if table.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(table.columns)})) while a minimum of 1 is required by "
                f"{type(self).__name__}."
            )
        return TableBatch(self.schema_, self._matched(table), self._places(self.schema_))

    def _read(self, X: Any) -> Table:
        """Hook for what else than tables may be learned."""
        return read_table(X)

    def _matched(self, table: Table) -> Table:
        places = self._places(self.schema_).items()
        whole = (p for block, at in places if family_of(block).is_document for p in at)
        bag = [self.schema_.columns[p].name for p in whole if self.schema_.columns[p].kind != "text"]
        return matched(
            table,
            self.schema_,
            bag,
            hasattr(self, "feature_names_in_"),
            self.strict,
            getattr(self, "_target", None),
            type(self).__name__,
        )

    # ------------------------------------------------------------------------------------------ what the parameters say

    def _overrides(self) -> Overrides:
        texts = (Tokens(), "multinomial") if self._is_textbook else (USUAL, "complement")
        return Overrides.of(self.kind, self.family, self.drop, self.missing, self.alpha, self.tokens, *texts)

    @property
    def _is_textbook(self) -> bool:
        """Whether every column's evidence is to be a likelihood: what unlabelled rows are shared by has to be one."""
        return bool(self.classical or self.unlabelled == "em")

    def _places(self, schema: Schema) -> dict[str, list[int]]:
        plan = getattr(self, "_plan", None)
        return self._overrides().places(schema) if plan is None else plan.places(schema)

    def _settings(self, schema: Schema) -> Settings:
        """How the tally of such columns is to be read."""
        plan, base = getattr(self, "_plan", None), self._base_settings(schema)
        return base if plan is None else plan.settings(schema, base)

    def _base_settings(self, schema: Schema) -> Settings:
        """The same as far as the parameters say it."""
        places, calibrated = self._overrides().places(schema), getattr(self, "_calibration", None)
        alphas = self._overrides().alpha
        general = getattr(self, "alpha_", 1.0) if isinstance(self.alpha, (str, Mapping)) else float(self.alpha or 0.0)
        general = 1.0 if self.alpha is None else general

        def alpha(block: str) -> Any:
            names = [schema.columns[p].name for p in places.get(block, [])]
            return tuple(float(alphas.get(name, 1.0)) for name in names) if alphas else general

        families: dict[str, Family] = {
            "gaussian": Gaussian(float(self.var_smoothing), self.variance, ignore_constants=True),
            "categorical": Categorical(alpha("categorical"), self.unseen, float(self.min_count)),
            "poisson": Poisson(alpha("poisson")),
            "multinomial": Multinomial(alpha("multinomial")),
        }
        families |= {name: family for name, family in numeric_families().items() if name not in families}
        families["hierarchical"] = Hierarchical(unseen=self.unseen)
        for block, at in places.items():
            if schema.columns[at[0]].kind == "text":
                chosen: Any = family_of(block)
                given = self._text_alpha(schema.columns[at[0]].name)
                families[block] = chosen(chosen.text_alpha if given is None else given)
        prior: Prior = self.prior
        return Settings({name: families[name] for name in places}, prior, float(self.prior_alpha), calibrated)

    def _text_alpha(self, name: str) -> float | None:
        """The pseudocount that was given for the words of a text; None where it is to be the usual one, or chosen."""
        given = self._overrides().alpha.get(name) if isinstance(self.alpha, Mapping) else self.alpha
        return None if given is None or isinstance(given, str) else float(given)

    def _wishes(self, batch: TableBatch) -> planning.Wishes:
        """What the parameters say of the plan."""
        schema, told = batch.schema, {}
        settings = self._settings(schema)
        if isinstance(self.alpha, str) and "categorical" in settings.families:
            plain = Model(settings, count(batch, settings.families, self.n_jobs))
            self.alpha_ = best_alpha(plain, "categorical", batch, self.n_jobs)
            settings = self._settings(schema)
        family = self._overrides().family
        for name, places in self._overrides().places(schema).items():
            for j, p in enumerate(places):
                column = schema.columns[p]
                smoothed = self.alpha is not None and name == "categorical"
                if smoothed or column.name in family or column.kind in ("count", "text"):
                    told[column.name] = for_columns(settings.families[name], [j])
        category = (
            Categorical(1.0, self.unseen, float(self.min_count)) if self.min_count or self.unseen != "ignore" else None
        )
        texts = (column.name for column in schema.columns if column.kind == "text")
        free = frozenset(name for name in texts if self._text_alpha(name) is None)
        return planning.Wishes(self.numeric, category, told, self.weights, self.pairs, free)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
