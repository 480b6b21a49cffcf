"""Mixture components: where they start, and how they are put in order.

Like expectation-maximisation itself this needs nothing of a family but to count and to score.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Labels
from tallybayes.core.model import Model
from tallybayes.core.schema import Level, Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import count
from tallybayes.learning import em

BACKGROUND = 0.2  # weight of all rows together beside the one row that a component starts from


def of_shares(settings: Settings, rows: Batch, classes: tuple[Level, ...], share: Array) -> Model:
    """The model of rows that are shared so (n, C) among components of these names."""
    schema = Schema(rows.schema.columns, classes)
    return Model(settings, count(replace(rows, schema=schema, labels=Labels.soft(share)), settings.families))


def seeds(settings: Settings, rows: Batch, weight: Array, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows that lie far apart, drawn one after the other as k-means++ draws centres.

    The distance of a row from the seeds is a difference of log likelihoods, that of the model of all rows and that of
    the model of the nearest seed, so that any family and any mix of columns will do.
    """
    whole = of_shares(settings, rows, (0,), weight[:, None]).log_joint(rows)[:, 0]
    found = [int(rng.choice(rows.n_rows, p=weight / weight.sum()))]
    nearest = _seeded(settings, rows, weight, found[-1:]).log_joint(rows)[:, 0]
    while len(found) < n:
        with np.errstate(invalid="ignore"):
            far = np.nan_to_num(whole - nearest, nan=0.0, posinf=1e300, neginf=-1e300)
        chance = weight * (far - far.min())
        chance[found] = 0.0
        total = chance.sum()
        chance = weight * ~np.isin(np.arange(rows.n_rows), found) if not total > 0 else chance
        found.append(int(rng.choice(rows.n_rows, p=chance / chance.sum())))
        nearest = np.maximum(nearest, _seeded(settings, rows, weight, found[-1:]).log_joint(rows)[:, 0])
    return np.array(found)


def _seeded(settings: Settings, rows: Batch, weight: Array, found: list[int] | NDArray[np.intp]) -> Model:
    """A component around each seed, widened by a little of all rows."""
    share = np.repeat(BACKGROUND / weight.sum() * weight[:, None], len(found), axis=1)
    share[found, np.arange(len(found))] += 1.0
    return of_shares(settings, rows, tuple(range(len(found))), share)


def start(settings: Settings, rows: Batch, n: int, how: str, rng: np.random.Generator) -> Model:
    """A model of several components to begin with: around seeds ("k-means++"), or of random shares ("random")."""
    _, weight = em.codes_and_weight(rows)
    flat = replace(settings, prior="uniform")  # before the first step all components are alike in size
    if how == "random":
        share = rng.dirichlet(np.full(n, 0.3), size=rows.n_rows) * weight[:, None]
        return of_shares(flat, rows, tuple(range(n)), share)
    return _seeded(flat, rows, weight, seeds(flat, rows, weight, n, rng))


def widened(model: Model, rows: Batch) -> Model:
    """The model with a little of all rows in each class: where labels are few, a class would begin without a width.

    Only the first shares are taken from it. A class of one labelled row would otherwise be a point that no other row
    is near to.
    """
    codes, weight = em.codes_and_weight(rows)
    one_row = weight[(codes >= 0) & (weight > 0)].mean()  # what a labelled row weighs
    share = np.repeat(BACKGROUND * one_row / weight.sum() * weight[:, None], model.n_classes, axis=1)
    return replace(model, tally=model.tally + of_shares(model.settings, rows, model.schema.classes, share).tally)


def revived(model: Model, rows: Batch) -> Model | None:
    """The same components, those that hardly a row is left of begun anew at rows that the others explain worst.

    None where every component has rows.
    """
    _, weight = em.codes_and_weight(rows)
    dead = np.flatnonzero(model.tally.class_weight < 0.5 * weight.sum() / rows.n_rows)
    if not len(dead):
        return None
    rows = replace(rows, schema=model.schema)
    share = em.responsibilities(model, rows) * weight[:, None]
    evidence = np.where(weight > 0, model.log_evidence(rows), np.inf)
    worst = np.argsort(evidence, kind="stable")[: len(dead)]
    share[:, dead] = BACKGROUND / weight.sum() * weight[:, None]
    share[worst] = 0.0
    share[worst, dead[: len(worst)]] = weight[worst]
    return of_shares(model.settings, rows, model.schema.classes, share)


def in_order(model: Model, rows: Batch) -> Model:
    """The same components numbered from the heaviest on, equal ones by their first row: runs number them alike."""
    columns, classes = model.schema.columns, model.schema.classes
    best = model.predict(replace(rows, schema=model.schema))
    first = np.full(model.n_classes, rows.n_rows)
    np.minimum.at(first, best, np.arange(rows.n_rows))
    weight = model.tally.class_weight
    order = np.lexsort((first, -np.round(weight / weight.sum(), 6)))
    sorted_ = model.tally.align(Schema(columns, tuple(classes[c] for c in order)))
    return replace(model, tally=replace(sorted_, schema=Schema(columns, tuple(range(len(order))))))
