"""The model as an ONNX graph, run by onnxruntime."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import tallybayes
from tallybayes import GaussianNB, NaiveBayes, errors
from tallybayes.core.settings import EvidenceWeights
from tallybayes.export import to_onnx
from tests.export.cases import CASES
from tests.servers import needed

MISSING_VALUE = "a text that stands for no text"


@pytest.fixture(autouse=True)
def _installed():
    for library in ("onnx", "onnxruntime"):
        needed(library, find_spec(library))


def run(graph, rows):
    """Label and probabilities of rows, by column."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(double)": np.float64, "tensor(float)": np.float32}
    inputs = session.get_inputs()
    if [i.name for i in inputs] == ["X"]:
        columns = [[np.nan if v is None else v for v in column] for column in rows.values()]
        return session.run(["label", "probabilities"], {"X": np.array(columns, kinds[inputs[0].type]).T})

    def tensor(of):
        values = rows[of.name]
        if of.type == "tensor(string)":
            return np.array([MISSING_VALUE if v is None else v for v in values], object)[:, None]
        return np.array([np.nan if v is None else v for v in values], kinds[of.type])[:, None]

    return session.run(["label", "probabilities"], {of.name: tensor(of) for of in inputs})


@pytest.mark.parametrize("name", CASES)
def test_the_graph_answers_as_the_model(name):
    import onnx

    case = CASES[name]()
    graph = case.estimator.to_onnx(missing_text=MISSING_VALUE)
    onnx.checker.check_model(graph, full_check=True)
    label, found = run(graph, case.rows)
    np.testing.assert_allclose(found, case.expected, rtol=0, atol=1e-5)
    clear = np.diff(np.sort(case.expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-5
    expected = case.estimator.classes_[case.expected.argmax(axis=1)]
    assert label[clear].tolist() == expected[clear].tolist()


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1.0, 2.0]])
def test_labels_keep_their_type_or_become_text(labels):
    x = np.array([[1.0], [2.0], [8.0], [9.0]])
    model = NaiveBayes(classical=True).fit(x, np.array(labels)[[0, 0, 1, 1]])
    label, _ = run(model.to_onnx(), {"x0": [1.0, 9.0]})
    assert label.tolist() == ([str(v) for v in labels] if isinstance(labels[0], float) else labels)


def test_single_precision_inputs_are_taken_if_given():
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    model = GaussianNB().fit(x, np.arange(50) % 2)
    _, found = run(model.to_onnx(dtype="float32"), {f"x{j}": x[:, j].tolist() for j in range(3)})
    np.testing.assert_allclose(found, model.predict_proba(x), atol=1e-5)


def test_a_text_for_missing_values_that_is_a_level_is_refused():
    model = NaiveBayes(classical=True).fit({"town": ["", "Rome", "", "Bonn"]}, [0, 1, 0, 1])
    with pytest.raises(errors.SettingError, match="missing_text="):
        model.to_onnx()
    with pytest.raises(errors.SettingError, match="dtype must be"):
        model.to_onnx(dtype="int8")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'tallybayes\[onnx\]'"):
        CASES["GaussianNB"]().estimator.to_onnx()


@pytest.mark.parametrize("weights", [{"town": 0.0}, {"town": 0.0, "size": 0.0}, {"size": 0.0}])
def test_a_text_without_evidence_is_no_number(weights):
    rows = {"town": ["rom", "bern", "rom", None], "size": [1.0, 2.5, None, 8.0]}
    model = NaiveBayes(classical=True).fit(rows, ["a", "b", "a", "b"]).model_
    model = replace(model, settings=replace(model.settings, weights=EvidenceWeights(weights, 1.0, {})))
    graph = to_onnx(model, missing_text=MISSING_VALUE)
    _, found = run(graph, rows)
    assert "X" not in [each.name for each in graph.graph.input]
    np.testing.assert_allclose(found, model.posterior(tallybayes.rows(model, rows)), rtol=0, atol=1e-5)
