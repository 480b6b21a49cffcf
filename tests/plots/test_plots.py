"""What is drawn is what the records say; a few pictures are compared, coarsely, with how they looked."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tallybayes import GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.data import datasets
from tallybayes.errors import DataError
from tallybayes.inspection import charts as pictures

if os.environ.get("CI") != "true":
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'tallybayes[plot]'")

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from tallybayes import plots

SNAPSHOTS = Path(__file__).parent / "snapshots"
SHAPE = (48, 64)  # cells of a snapshot
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2)) * [1, 2] + np.repeat([[0.0, 0.0], [2.5, 1.0]], 100, axis=0)
Y = np.repeat(["no", "yes"], 100)
TENNIS = datasets.tennis()
PLAYED = TENNIS.pop("play")
DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


@pytest.fixture(autouse=True)
def _closed():
    with mpl.rc_context():
        mpl.rcdefaults()
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def tennis() -> NaiveBayes:
    return NaiveBayes(classical=True).fit(TENNIS, PLAYED)


@pytest.fixture(scope="module")
def gaussian() -> GaussianNB:
    return GaussianNB(variance="shared").fit(X, Y)


def test_features_are_the_records(tennis: NaiveBayes) -> None:
    axes, records = plots.features(tennis), pictures.column_pictures(tennis)
    assert [ax.get_title().split("\n")[0] for ax in axes] == [record.column for record in records]
    drawn = sorted(round(bar.get_width(), 12) for bar in axes[1].patches)
    assert drawn == sorted(round(p, 12) for p in records[1].shape.chance.ravel())


def test_curves_are_the_records(gaussian: GaussianNB) -> None:
    record = pictures.column_pictures(gaussian, X, Y)[0]
    ax = plots.features(gaussian, X, Y, most=1)[0]
    for k, line in enumerate(ax.get_lines()):
        np.testing.assert_allclose(line.get_ydata(), record.shape.density[k])
    assert len(ax.patches) == 2  # the histograms


def test_features_of_words_and_records() -> None:
    model = MultinomialNB().fit([[3, 0, 1], [0, 3, 1]], ["a", "b"])
    assert len(plots.features(model)) == 1
    assert len(plots.features(pictures.column_pictures(model))) == 1
    with pytest.raises(DataError, match="no column to draw"):
        plots.features([])
    with pytest.raises(DataError, match="as many axes"):
        plots.features(GaussianNB().fit(X, Y), axes=[plt.subplots()[1]])


def test_the_waterfall_ends_at_the_total(tennis: NaiveBayes) -> None:
    found = tennis.explain(DAY)
    ax = plots.evidence(found)
    bars = ax.patches
    assert [round(b.get_width(), 9) for b in bars] == [
        round(v, 9) for v in (found.prior, *(e.log_odds for e in found.evidence))
    ]
    for before, after in pairwise(bars):
        assert after.get_x() == pytest.approx(before.get_x() + before.get_width())
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(found.total)
    assert "log odds of no against yes" in ax.get_xlabel()
    few = plots.evidence(tennis, DAY, most=2)
    assert few.patches[-1].get_x() + few.patches[-1].get_width() == pytest.approx(found.total)
    assert few.get_yticklabels()[-1].get_text() == "2 others"


def test_evidence_of_a_bare_model_and_of_the_impossible(tennis: NaiveBayes) -> None:
    assert plots.evidence(tennis.model_, DAY).get_xlabel() == plots.evidence(tennis, DAY).get_xlabel()
    sure = NaiveBayes(classical=True, alpha=0).fit(TENNIS, PLAYED)
    plots.evidence(sure, {"outlook": "overcast"}).figure.canvas.draw()
    with pytest.raises(DataError, match="pass the row"):
        plots.evidence(tennis)


def test_the_nomogram_marks_every_value(tennis: NaiveBayes) -> None:
    ax = plots.nomogram(tennis)
    texts = {text.get_text() for text in ax.texts}
    assert {"sunny", "rainy", "overcast", "high", "normal", "weak", "strong"} <= texts
    chart = pictures.nomogram(tennis)
    assert [t.get_text() for t in ax.get_yticklabels()][1:5] == [line.column for line in chart.lines]


def test_the_boundary_has_its_line_and_ellipses(gaussian: GaussianNB) -> None:
    ax, found = plots.decision_boundary(gaussian, X=X, y=Y), pictures.boundary(gaussian, X=X, y=Y)
    line = next(line for line in ax.get_lines() if len(line.get_xdata()) == 2)
    x, y = line.get_xdata(), line.get_ydata()
    np.testing.assert_allclose(found.line[0][0] * x + found.line[0][1] * y + found.line[1], 0.0, atol=1e-9)
    assert len(ax.patches) == 4
    assert sum(len(c.get_offsets()) for c in ax.collections) == 200
    bent = plots.decision_boundary(GaussianNB().fit(X, Y))
    assert not any(len(line.get_xdata()) == 2 for line in bent.get_lines())


def test_reliability_and_confusion(gaussian: GaussianNB) -> None:
    evaluation = gaussian.evaluate(X, Y)
    ax = plots.reliability(evaluation)
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), [b.accuracy for b in evaluation.reliability])
    ax = plots.confusion(gaussian, X, Y)
    assert sorted(float(t.get_text()) for t in ax.texts) == sorted(evaluation.confusion.ravel().tolist())
    with pytest.raises(DataError, match="labelled rows"):
        plots.confusion(gaussian)


def test_curves_over_rows_steps_and_priors(gaussian: GaussianNB, tennis: NaiveBayes) -> None:
    curve = pictures.learning_curve(gaussian, X, Y)
    np.testing.assert_allclose(plots.learning_curve(curve).get_lines()[0].get_ydata(), curve.accuracy)
    assert plots.learning_curve(gaussian, X, Y, sizes=[20, 40]).get_lines()[0].get_xdata().tolist() == [20, 40]
    labels = np.where(np.arange(200) % 100 < 3, np.repeat([0, 1], 100), -1)
    learned = GaussianNB(unlabelled="em").fit(X, labels)
    np.testing.assert_allclose(plots.em_path(learned).get_lines()[0].get_ydata(), learned.log_likelihood_path_)
    sweep = pictures.prior_sweep(tennis, DAY)
    np.testing.assert_allclose(plots.priors(tennis, DAY).get_lines()[0].get_ydata(), sweep.posterior[:, 0])


def test_axes_are_taken_and_given(gaussian: GaussianNB) -> None:
    _, ax = plt.subplots()
    assert plots.reliability(gaussian.evaluate(X, Y), ax=ax) is ax
    assert plots.decision_boundary(gaussian, ax=ax) is ax


def test_colours_follow_the_style(gaussian: GaussianNB) -> None:
    own = plots.learning_curve(gaussian, X, Y).get_lines()[0].get_color()
    assert own == plots.COLOURS[0]
    mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=["#123456", "#abcdef"])
    assert plots.learning_curve(gaussian, X, Y).get_lines()[0].get_color() == "#123456"


def test_names_are_not_read_as_mathematics() -> None:
    model = NaiveBayes(classical=True).fit({"cost $x$ in $": ["$1$", "$2$"] * 5}, ["a$b$", "c"] * 5)
    for ax in (*plots.features(model), plots.nomogram(model), plots.evidence(model, {"cost $x$ in $": "$1$"})):
        ax.figure.canvas.draw()


DRAWN = {
    "features": lambda t, g: plots.features(t)[0],
    "evidence": lambda t, g: plots.evidence(t, DAY),
    "nomogram": lambda t, g: plots.nomogram(t),
    "boundary": lambda t, g: plots.decision_boundary(g, X=X, y=Y),
}


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", DRAWN)
def test_it_looks_as_it_did(name: str, style: str, tennis: NaiveBayes, gaussian: GaussianNB) -> None:
    """Coarse means of the picture: fonts and versions may differ, what is drawn where may not."""
    with plt.style.context(style):
        figure = DRAWN[name](tennis, gaussian).figure
        figure.set_dpi(60)
        figure.canvas.draw()
        image = np.asarray(figure.canvas.buffer_rgba())[:, :, :3].astype(float) / 255
    rows, columns = (np.array_split(np.arange(n), m) for n, m in zip(image.shape, SHAPE, strict=False))
    coarse = np.stack([image[r].mean(axis=0) for r in rows])
    coarse = np.stack([coarse[:, c].mean(axis=1) for c in columns], axis=1)
    path = SNAPSHOTS / f"{name}-{style}.png"
    if os.environ.get("TALLYBAYES_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        plt.imsave(path, coarse)
    before = plt.imread(path)[:, :, :3]
    assert np.sqrt(((coarse - before) ** 2).mean()) < 0.06


def test_decisions_draw_the_rankings_of_the_evaluation(gaussian: GaussianNB) -> None:
    seen = gaussian.evaluate(X, Y)
    (ranking,) = seen.rankings
    line = plots.roc(seen).get_lines()[-1]
    np.testing.assert_array_equal(line.get_xdata()[1:], ranking.false_positive_rate)
    np.testing.assert_array_equal(line.get_ydata()[1:], ranking.recall)
    np.testing.assert_array_equal(plots.precision_recall(seen).get_lines()[-1].get_xdata()[1:], ranking.recall)
    np.testing.assert_array_equal(plots.gain(seen).get_lines()[-1].get_xdata()[1:], ranking.selected)
    drawn = plots.costs(seen, missed=5.0).get_lines()[0]
    np.testing.assert_array_equal(drawn.get_ydata(), ranking.costs(5.0, 1.0))


def test_a_threshold_is_for_two_classes_and_rankings_for_few() -> None:
    three = GaussianNB().fit(X, np.arange(200) % 3)
    assert len(plots.roc(three.evaluate(X, np.arange(200) % 3)).get_lines()) == 4
    with pytest.raises(DataError, match="two classes; there are 3"):
        plots.costs(three.evaluate(X, np.arange(200) % 3))
    many = GaussianNB().fit(X, np.arange(200) % 25)
    with pytest.raises(DataError, match="2 to 20 classes"):
        plots.roc(many.evaluate(X, np.arange(200) % 25))


@pytest.fixture(scope="module")
def penguins() -> NaiveBayes:
    return NaiveBayes().fit(datasets.penguins(), target="species")


def test_importance_is_the_record(penguins: NaiveBayes) -> None:
    record = pictures.importance(penguins)
    widths = [bar.get_width() for bar in plots.importance(penguins).patches]
    assert widths == pytest.approx([each.value for each in record.columns][::-1])
    assert all(each.low <= each.value <= each.high for each in record.columns)


def test_levels_that_have_no_room_are_counted() -> None:
    """Issue 20: 20 of 31 levels were drawn without a word."""
    levels = [f"level {i:02}" for i in range(31)] * 20
    fate = np.random.default_rng(0).permutation(np.arange(len(levels)) % 2)
    model = NaiveBayes(classical=True).fit({"place": levels}, fate)
    assert plots.shape(model, "place").get_xlabel().endswith("the 20 most frequent of 31 levels")


def test_shapes_are_what_explain_adds_up(penguins: NaiveBayes) -> None:
    axes = plots.shape(penguins, "island")
    record = pictures.evidence_shapes(penguins, ["island"])[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(record.log_odds[:, record.by_evidence()].ravel())
    two = NaiveBayes(classical=True).fit(TENNIS, PLAYED)
    shape = pictures.evidence_shapes(two, ["wind"])[0]
    found = {e.column: e.log_odds for e in two.explain({"wind": "weak"}, against="no").evidence}
    assert shape.log_odds[0, shape.levels.index("weak")] == pytest.approx(found["wind"])
    line = plots.shape(penguins, "bill_length_mm").lines[0]
    assert len(line.get_xdata()) > 20


def test_a_pair_is_a_map() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 600))
    model = NaiveBayes(pairs=[("a", "b")]).fit({"a": a.astype(str), "b": b.astype(str)}, np.where(a == b, "p", "q"))
    axes = plots.pair(model)
    assert axes.images[0].get_array().shape == (2, 2)
    with pytest.raises(DataError, match="no pair"):
        plots.pair(model, "a")
    with pytest.raises(DataError, match="name the column"):
        plots.shape(model)


def test_long_names_do_not_collapse_the_axes() -> None:
    name = "a name " * 30
    model = NaiveBayes(classical=True).fit({name: TENNIS["outlook"]}, PLAYED)
    for axes in (plots.importance(model), plots.shape(model, name)):
        axes.figure.canvas.draw()
        assert axes.get_position().width > 0.3
        assert axes.get_position().height > 0.3
