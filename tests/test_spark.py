"""Spark for real: a cluster of two workers on this machine."""

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import DataError
from tests.engines import mixed_frame
from tests.export.cases import CASES
from tests.servers import needed

ROWS = mixed_frame(400)
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "rows.parquet"
    ROWS.write_parquet(path)
    return spark.read.parquet(str(path))


@pytest.fixture(scope="module")
def connect(spark):
    """A client of the same cluster that has no Java of its own: all it knows is an address."""
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        needed("pyspark[connect]", False)
    port = spark.conf.get("spark.connect.grpc.binding.port")
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NaiveBayes(classical=True, drop=["worth"]).fit(ROWS, target="label")


def test_predictions_and_reasons_stand_beside_the_rows(rows, fitted):
    from tallybayes.spark import predict

    found = predict(fitted, rows, reasons=2).toArrow()
    assert found.column_names[-5:] == ["prediction", "p_it's", "p_maybe", "p_no", "reasons"]
    expected = fitted.predict_proba(ROWS.drop("label", "worth"))
    assert found.column("far").to_pylist() == ROWS["far"].to_list()
    for k, label in enumerate(fitted.classes_):
        np.testing.assert_allclose(found.column(f"p_{label}").to_numpy(), expected[:, k], atol=1e-12)
    assert all(" = " in given for given in found.column("reasons").to_pylist())


def test_a_client_of_spark_connect_counts_learns_and_predicts_as_pandas(connect, tmp_path):
    from tallybayes.spark import predict

    some = ROWS.select("f32", "town", "mood", "label")
    some.write_parquet(tmp_path / "rows.parquet")
    frame = connect.read.parquet(str(tmp_path / "rows.parquet"))
    np.testing.assert_array_equal(
        tallybayes.tally(frame.select("mood", "label"), target="label").class_weight,
        tallybayes.tally(some.to_pandas(), target="label").class_weight,
    )
    fitted = NaiveBayes(classical=True).fit(frame, target="label")
    reference = NaiveBayes(classical=True).fit(some.to_pandas(), target="label")
    assert fitted.classes_.tolist() == reference.classes_.tolist()
    found = predict(fitted, frame).toArrow()
    ours = np.array([found.column(f"p_{label}").to_numpy() for label in reference.classes_]).T
    expected = reference.predict_proba(some.drop("label").to_pandas())
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)
    assert found.column("prediction").to_pylist() == reference.classes_[expected.argmax(axis=1)].tolist()


def test_a_stage_of_a_pipeline_is_fitted_saved_and_read(rows, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    from tallybayes.spark import NaiveBayesEstimator

    stage = NaiveBayesEstimator({"classical": True}, labelCol="label", weightCol="worth")
    model = Pipeline(stages=[stage]).fit(rows.select("far", "mood", "worth", "label"))
    model.write().overwrite().save(f"file://{tmp_path}/pipeline")
    again = PipelineModel.load(f"file://{tmp_path}/pipeline")
    expected = NaiveBayes(classical=True).fit(
        ROWS.select("far", "mood", "label"), target="label", sample_weight=ROWS["worth"].to_numpy()
    )
    found = again.transform(rows.select("far", "mood")).toArrow()
    np.testing.assert_allclose(
        found.column("p_no").to_numpy(), expected.predict_proba(ROWS.select("far", "mood"))[:, 2], atol=1e-9
    )


@pytest.mark.parametrize("name", ["pairs", "classical, zeros"])
def test_the_query_for_spark_answers_as_the_model(spark, name):
    case = CASES[name]()
    table = pa.table({"key": range(len(case.expected)), **case.rows})
    spark.createDataFrame(table).createOrReplaceTempView("some_rows")
    found = spark.sql(case.estimator.to_sql("some_rows", "spark", keep=["key"])).toArrow().sort_by("key")
    ours = np.array([found.column(f"p_{label}").to_numpy() for label in case.estimator.classes_]).T
    np.testing.assert_allclose(ours, case.expected, rtol=0, atol=1e-9)


def executors(session):
    """Process numbers of the workers of this session, and of no other."""
    own = session.sparkContext.applicationId
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if "java" in words[0] and own in words and any("CoarseGrainedExecutorBackend" in word for word in words):
                found.append(int(folder.name))
    return found


def both_executors(session):
    """The same, as soon as there are two: one that died before is replaced after a while."""
    for _ in range(600):
        if len(found := executors(session)) > 1:
            break
        time.sleep(0.1)
    assert len(found) > 1
    return found


def test_a_worker_that_dies_while_it_counts_changes_nothing(spark, rows):
    def slowly(batches):
        for batch in batches:
            time.sleep(1.0)
            yield batch

    some = rows.select("far", "i16", "label")
    expected = tallybayes.tally(some, target="label")
    slow = some.repartition(6).mapInArrow(slowly, some.schema)
    found = []
    counting = threading.Thread(target=lambda: found.append(tallybayes.tally(slow, target="label")))
    counting.start()
    time.sleep(2.0)
    victim = both_executors(spark)[0]
    os.kill(victim, signal.SIGKILL)
    counting.join(600)
    assert len(found) == 1
    np.testing.assert_array_equal(found[0].class_weight, expected.class_weight)
    for field, values in expected.blocks["gaussian"].summary.arrays().items():
        ours = found[0].blocks["gaussian"].summary.arrays()[field]
        np.testing.assert_allclose(ours, values, rtol=0 if field == "weight" else 1e-9, atol=0)


def test_bad_tables_are_refused(spark, rows, fitted):
    from tallybayes.spark import predict

    with pytest.raises(DataError, match="no column 'nix'"):
        tallybayes.tally(rows, target="nix")
    lists = spark.sql("SELECT array(1, 2) AS many, 'a' AS label UNION ALL SELECT array(3), 'b'")
    with pytest.raises(DataError, match="'many' holds lists"):
        tallybayes.tally(lists, target="label")
    with pytest.raises(DataError, match="already has a column 'prediction'"):
        predict(fitted, rows.withColumnRenamed("mood", "prediction"))
    with pytest.raises(DataError, match="none of the columns"):
        predict(fitted, rows.select("label"))
