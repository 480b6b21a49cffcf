"""What the benchmarks are made of: data that is made, samples, files of scores and their summary."""

import csv

import numpy as np
import pytest
from benchmarks._data import parity, tic_tac_toe
from benchmarks._scores import HEADER, Scores, as_row, read_scores
from benchmarks._summary import interval, losses
from benchmarks._trials import noise, noise_trial, own_figures, subsample
from benchmarks.accuracy import CONTESTANTS, OURS, TEXTBOOK, chosen
from benchmarks.honest import outside_mean


def test_tic_tac_toe_has_its_958_ends():
    boards, y = tic_tac_toe()
    assert boards.shape == (958, 9)
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {"x wins": 626, "x does not win": 332}
    assert len({"".join(board) for board in boards}) == 958
    n_x, n_o = (boards == "x").sum(axis=1), (boards == "o").sum(axis=1)
    assert set(n_x - n_o) == {0, 1}
    assert ((n_x + n_o == 9) & (y != "x wins")).sum() == 16  # draws: o never moves last on a full board


def test_no_two_bits_of_parity_depend_on_the_class():
    bits, y = parity(80_000)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        odd = [(y[(bits[:, a] == u) & (bits[:, b] == v)] == "odd").mean() for u in "01" for v in "01"]
        assert odd == pytest.approx([0.5] * 4, abs=0.02)


@pytest.mark.parametrize("n", [20, 40, 160])
def test_a_subsample_has_two_rows_of_each_class(n):
    y = np.repeat(list("abcde"), [800, 150, 30, 15, 5])
    rows = subsample(y, n, np.random.default_rng(0))
    _, counts = np.unique(y[rows], return_counts=True)
    assert len(rows) == len(set(rows)) == n
    assert len(counts) == 5
    assert counts.min() >= 2
    assert counts[0] == counts.max()


def test_a_subsample_without_room_leaves_out_the_smallest_classes():
    y = np.repeat(list("abcde"), [50, 40, 30, 20, 10])
    rows = subsample(y, 6, np.random.default_rng(0))
    assert sorted(y[rows]) == list("aabbcc")


def test_noise_has_columns_of_both_kinds():
    table = noise("mixed", 300, 9, np.random.default_rng(0))
    numbers = table.select_dtypes("number")
    assert numbers.shape == (300, 5)
    assert all(2 <= table[name].nunique() <= 6 for name in table.columns.difference(numbers.columns))
    assert noise("numeric", 10, 9, np.random.default_rng(0)).select_dtypes("number").shape == (10, 9)


def test_a_trial_of_noise_knows_the_truth():
    record = noise_trial("mixed", 60, 4, 2, 0)
    assert record["accuracy"] == 0.5
    assert record["log loss"] >= np.log(2)  # no model of noise does better than the true shares
    assert record["baseline"] >= np.log(2)
    assert record == noise_trial("mixed", 60, 4, 2, 0)


def test_stored_figures_go_before_an_evaluation():
    class Model:
        def evaluate(self, X, y):
            return "evaluated"

    model = Model()
    assert own_figures(model, None, None) == "evaluated"
    model.evaluation_ = "stored"
    assert own_figures(model, None, None) == "stored"


def test_scores_come_back_from_their_file(tmp_path):
    right = np.random.default_rng(0).random(203) < 0.9
    scores = Scores((right.mean(), 0.3, 0.02, 0.8, 1.5), 0.04, right, 1000, "1 of 5", "2026-01-02")
    with (tmp_path / "scores.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, as_row("car", OURS, scores)])
    back = read_scores([tmp_path / "scores.csv"])[OURS]["car"]
    np.testing.assert_array_equal(back.right, right)
    assert (back.figures, back.folds, back.date, back.n_rows) == (scores.figures, "1 of 5", "2026-01-02", 1000)


def test_losses_name_tables_more_than_half_a_point_below():
    def scores(n_right, n=1000):
        return Scores((n_right / n, 0, 0, 0, 0), 0.0, np.arange(n) < n_right, n)

    ours = {"a": scores(900), "b": scores(900), "c": scores(900)}
    theirs = {"a": scores(904), "b": scores(916), "c": scores(182, 200)}
    assert losses(["a", "b", "c"], ours, theirs) == [
        "b (1.6 points, standard error 0.4)",  # 16 of 1,000 rows differ
        "c (1.0 points, standard error 2.2)",  # other rows: the two variances add up
    ]


def test_an_interval_holds_its_mean():
    low, high = interval([0.1, 0.2, 0.3, 0.4])
    assert 0.1 <= low < 0.25 < high <= 0.4
    assert interval([0.5, 0.5]) == (0.5, 0.5)


def test_models_of_an_earlier_file_are_not_run_again(monkeypatch):
    monkeypatch.setenv("TALLYBAYES_KHIOPS", "python")
    monkeypatch.setattr("benchmarks.accuracy.missing", lambda name: None)
    assert chosen(None, {}) == list(CONTESTANTS)
    assert chosen(None, {name: {} for name in CONTESTANTS}) == [OURS, TEXTBOOK]
    assert chosen([OURS], {"EBM": {}, OURS: {}}) == [OURS]


def test_a_missing_model_is_skipped_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.delenv("TALLYBAYES_KHIOPS", raising=False)
    monkeypatch.setattr("benchmarks._boosting.find_spec", lambda module: None)
    assert chosen(["EBM", "Khiops", "logistic regression"], {}) == ["logistic regression"]
    assert "pip install interpret-core" in capsys.readouterr().out


def test_the_mean_of_folds_is_that_of_their_rows():
    loss = np.array([0.1, 0.5, 0.2, 0.9, 0.4])
    folds = [{"rows": len(part), "sum": part.sum(), "squares": (part**2).sum()} for part in (loss[:2], loss[2:])]
    assert outside_mean(folds) == pytest.approx((loss.mean(), loss.std() / np.sqrt(5)))
