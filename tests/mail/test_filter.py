"""The filter: what is learned, how it is judged, and that it is exact."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tallybayes
from tallybayes import storage
from tallybayes.core.calibration import Affine
from tallybayes.core.model import Model
from tallybayes.core.settings import Settings
from tallybayes.data import datasets
from tallybayes.errors import DataError, ModelFileError, NotAvailableError, UnlearnError
from tallybayes.families import Gaussian
from tallybayes.mail import filter, training
from tallybayes.mail.boxes import places
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.message import document
from tallybayes.mail.verdicts import Thresholds

from .letters import letter

SPAM, HAM = ([document(letter(kind, n)) for n in range(120)] for kind in ("spam", "ham"))
NEW = {kind: [document(letter(kind, n)) for n in range(200, 240)] for kind in ("spam", "ham")}


@pytest.fixture(scope="module")
def model() -> Model:
    return training.train(HAM, SPAM)[0]


def same(a: Model, b: Model) -> bool:
    """Whether two filters have counted the same."""
    x, y = (model.tally.blocks[filter.BLOCK].summary.arrays() for model in (a, b))
    return a.schema.columns[0].levels == b.schema.columns[0].levels and all(np.array_equal(x[k], y[k]) for k in x)


def test_new_messages_are_distinguished(model: Model) -> None:
    assert {v.label for v in filter.classify(model, NEW["spam"])} == {"spam"}
    assert {v.label for v in filter.classify(model, NEW["ham"])} == {"ham"}


def test_training_is_learning_one_by_one(model: Model) -> None:
    grown = filter.empty()
    for kind, documents in (("spam", SPAM), ("ham", HAM)):
        for first in range(0, 120, 7):
            grown = filter.learn(grown, documents[first : first + 7], kind)
    assert same(grown, model)


def test_leave_one_out_is_what_forgetting_the_message_gives(model: Model) -> None:
    batch = filter.rows([*HAM, *SPAM], ["ham"] * 120 + ["spam"] * 120)
    held_out = np.exp(model.leave_one_out(batch))[:, 1]
    for documents, kind, first in ((HAM, "ham", 0), (SPAM, "spam", 120)):
        for n in (0, 17, 119):
            without = filter.unlearn(model, [documents[n]], kind)
            assert filter.classify(without, [documents[n]])[0].probability == pytest.approx(
                held_out[first + n], rel=1e-9
            )


def test_what_is_forgotten_was_never_there(model: Model) -> None:
    more = filter.learn(model, NEW["spam"], "spam")
    assert not same(more, model)
    assert same(filter.unlearn(more, NEW["spam"], "spam"), model)


def test_a_message_that_was_not_learned_cannot_be_forgotten(model: Model) -> None:
    with pytest.raises(UnlearnError, match="this message was not learned as ham, so nothing was changed"):
        filter.unlearn(model, ["word that nobody wrote"], "ham")


def test_clues_add_up_to_the_verdict(model: Model) -> None:
    case = filter.explain(model, NEW["spam"][0])
    assert case.total == pytest.approx(math.fsum(clue.log_odds for clue in case.clues))
    assert case.verdict.probability == pytest.approx(
        1.0 / (1.0 + math.exp(-case.total / case.temperature - case.intercept))
    )
    strengths = [abs(clue.log_odds) for clue in case.clues]
    assert strengths == sorted(strengths, reverse=True)
    assert len(case.clues) <= 30
    clue = case.clues[0]
    want = math.log((clue.spam + 0.05) / (120 + 0.1)) - math.log((clue.ham + 0.05) / (120 + 0.1))
    assert clue.log_odds == pytest.approx(want)
    assert clue.spam == sum(clue.token in d.split("\n") for d in SPAM)


def test_the_strongest_tokens(model: Model) -> None:
    found = filter.top(model, 5)
    assert [len(clues) for clues in found.values()] == [5, 5]
    assert all(clue.log_odds < 0 for clue in found["ham"])
    assert all(clue.log_odds > 0 for clue in found["spam"])


def test_nothing_known_is_unsure_and_says_so(model: Model) -> None:
    (verdict,) = filter.classify(model, ["aardvark"])
    assert str(verdict) == "unsure 0.5000 (no known token)"
    (verdict,) = filter.classify(model, [""])
    assert verdict.label == "unsure"


def test_one_class_alone_decides_nothing() -> None:
    only = filter.learn(filter.empty(), SPAM, "spam")
    assert {(v.label, v.probability) for v in filter.classify(only, SPAM)} == {("unsure", 0.5)}
    assert filter.classify(filter.empty(), SPAM[:1])[0].label == "unsure"


def test_thresholds() -> None:
    strict = Thresholds(spam=0.99, ham=0.01)
    assert [strict.label(p) for p in (0.0, 0.01, 0.5, 0.98, 0.99, 1.0)] == ["ham", *["unsure"] * 3, "spam", "spam"]
    assert [Thresholds().label(p) for p in (0.05, 0.1, 0.89, 0.9)] == ["ham", "unsure", "unsure", "spam"]
    for bad in ((0.1, 0.9), (1.5, 0.1), (0.9, -0.1), (math.nan, 0.1)):
        with pytest.raises(DataError, match="thresholds are probabilities"):
            Thresholds(*bad)


def test_a_few_messages_keep_the_usual_reading(model: Model) -> None:
    few = training.train(HAM[:20], SPAM)[0]
    assert few.settings.calibration == filter.TEMPERATURE
    assert filter.thresholds_of(few) == Thresholds()
    assert isinstance(model.settings.calibration, Affine)
    assert filter.thresholds_of(model) != Thresholds()
    assert model.provenance.chosen["max_false_positives"] == 0.001


def test_a_filter_is_an_ordinary_model_file(model: Model, tmp_path) -> None:
    storage.write(model, tmp_path / "mail.tally")
    again = storage.read(tmp_path / "mail.tally")
    assert filter.adopted(again) is again
    assert same(again, model)
    assert filter.classify(again, NEW["ham"]) == filter.classify(model, NEW["ham"])
    assert "clues" in storage.summary(again)


def test_other_models_are_no_filters(model: Model) -> None:
    other = Model(
        Settings({"gaussian": Gaussian()}), tallybayes.tally(np.array([[1.0], [2.0]]), ["ham", "spam"], Gaussian())
    )
    with pytest.raises(ModelFileError, match="not a mail filter"):
        filter.adopted(other)
    with pytest.raises(ModelFileError, match="not a mail filter"):
        filter.adopted(replace(model, tally=replace(model.tally, blocks={})))


def test_merged_filters_have_the_usual_temperature(model: Model) -> None:
    merged = replace(model, settings=replace(model.settings, calibration=None), tally=model.tally + model.tally)
    assert filter.adopted(merged).settings.calibration == filter.TEMPERATURE
    assert filter.adopted(merged).tally.class_weight.tolist() == [240.0, 240.0]


def test_clues_have_no_table_to_export(model: Model) -> None:
    from tallybayes.export.portable import Scorer

    with pytest.raises(NotAvailableError, match="which words of 'message' count depends on the text"):
        Scorer.of(replace(model, settings=replace(model.settings, calibration=None)), texts=True)


def test_evaluation_counts_what_became_of_the_messages() -> None:
    found = MailEvaluation.of_probabilities([0.95, 0.92, 0.6, 0.01], [0.0, 0.5, 0.99])
    assert found.spam == {"spam": 2, "unsure": 1, "ham": 1}
    assert found.ham == {"spam": 1, "unsure": 1, "ham": 1}
    assert (found.recall, found.false_positives, found.unsure, found.accuracy) == (0.5, 1, 2, 4 / 7)
    assert "recall 0.500 with 1 false positive; accuracy at threshold 0.5: 0.5714" in str(found)


def test_the_example_mailbox_is_learned() -> None:
    spam, ham = ([document(p.read()) for p in places([datasets.mailbox(kind)])] for kind in ("spam", "ham"))
    _, held_out = training.train(ham, spam)
    assert held_out.accuracy > 0.9
