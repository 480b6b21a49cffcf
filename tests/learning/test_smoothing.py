"""The pseudocount, chosen by leave-one-out."""

import numpy as np
import pytest

import tallybayes
from tallybayes.core.batch import Labels
from tallybayes.core.model import Model
from tallybayes.core.settings import Settings
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError
from tallybayes.families import Bernoulli, Multinomial
from tallybayes.learning import smoothing
from tallybayes.learning.smoothing import best_alpha, with_alpha


def learned(x, codes, weight=None, family=None):
    family = family or Bernoulli()
    codes = np.asarray(codes, np.int32)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
    model = Model(Settings({family.name: family}), tallybayes.tally(x, codes, family, weight=weight))
    return model, one_block(family.name, model.schema, x, Labels.hard(codes, weight))


def noise(n=60, seed=0, skill=0.5):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    return (rng.random((n, 4)) < np.where(codes, skill, 1 - skill)[:, None]).astype(float), codes


def really_left_out(model, batch, alpha):
    """Σ w log P(y | x, all other rows), each row really unlearned."""
    model, total = with_alpha(model, "bernoulli", alpha), 0.0
    for i, code in enumerate(batch.labels.codes):
        row = batch.rows(i, i + 1)
        total += batch.labels.weight[i] * model.unlearn(row).log_posterior(row)[0, code]
    return total


@pytest.mark.parametrize("light", [1.0, 0.05])
def test_no_other_alpha_predicts_left_out_labels_better(light):
    # Half the rows show the class, half are noise: how much the noise weighs decides.
    (clear, clear_codes), (noisy, noisy_codes) = noise(30, skill=0.95), noise(30, seed=1)
    weight = np.repeat([2.0, light], 30)
    model, batch = learned(np.vstack([clear, noisy]), np.concatenate([clear_codes, noisy_codes]), weight)
    best = really_left_out(model, batch, best_alpha(model, "bernoulli", batch))
    others = [really_left_out(model, batch, alpha) for alpha in np.logspace(-5, 3, 17)]
    assert best >= max(others) - 1e-3


def test_noise_asks_for_more_smoothing_than_a_clear_signal():
    noisy, clear = (best_alpha(*_args(learned(*noise(skill=skill)))) for skill in (0.5, 0.95))
    assert noisy > 10 * clear


def _args(model_and_batch):
    model, batch = model_and_batch
    return model, "bernoulli", batch


def test_many_rows_are_subsampled(monkeypatch):
    evaluated = []
    leave_one_out = Model.leave_one_out
    monkeypatch.setattr(smoothing, "MOST_ROWS", 25)
    monkeypatch.setattr(
        Model, "leave_one_out", lambda self, rows, *a: evaluated.append(rows.n_rows) or leave_one_out(self, rows, *a)
    )
    assert best_alpha(*_args(learned(*noise(60)))) > 0
    assert set(evaluated) == {20}  # every third row


def test_the_only_row_of_each_class_says_nothing_about_alpha():
    assert best_alpha(*_args(learned(np.eye(2), [0, 1]))) == 1.0


def test_labels_are_needed():
    model, _ = learned(np.eye(2), [0, 1])
    with pytest.raises(DataError, match="needs the label"):
        best_alpha(model, "bernoulli", one_block("bernoulli", model.schema, np.eye(2)))


def test_one_block_is_smoothed_and_the_tally_stays():
    model, _ = learned(np.eye(2), [0, 1], family=Multinomial())
    other = with_alpha(model, "multinomial", 0.25)
    assert other.settings.families["multinomial"] == Multinomial(0.25)
    assert model.settings.families["multinomial"] == Multinomial()
    assert other.tally is model.tally
