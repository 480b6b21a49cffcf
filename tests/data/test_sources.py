"""Learning from files gives the tally of the frame, whatever the format; bad files are refused in one sentence."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from pyarrow import feather

import tallybayes
from tallybayes import NaiveBayes, Tally, learn
from tallybayes.data.files import open_file
from tallybayes.data.opening import open_source
from tallybayes.data.overrides import Overrides
from tallybayes.data.tallies import tally_table as tally_file
from tallybayes.errors import ColumnWarning, DataError, SettingError
from tallybayes.inspection.predictions import predict_batches
from tallybayes.learning.options import Options
from tests.laws.compare import assert_same_tally as same_in_all


def assert_same_tally(got: Tally, want: Tally) -> None:
    """The same columns and counts; the reasons may differ, since they tell how many rows were seen."""
    assert [(c.name, c.kind, c.levels) for c in got.schema.columns] == [
        (c.name, c.kind, c.levels) for c in want.schema.columns
    ]
    assert got.schema.classes == want.schema.classes
    same_in_all(replace(got, schema=want.schema), want)


def table(n: int = 500, seed: int = 0) -> pl.DataFrame:
    """Every kind of column, with missing values: one frame for all formats."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)

    def with_missing(values: Any, share: float = 0.1) -> list[Any]:
        return [
            None if missing_value else v
            for v, missing_value in zip(values.tolist(), rng.random(n) < share, strict=True)
        ]

    return pl.DataFrame(
        {
            "row": range(n),
            "far": with_missing(1e8 + rng.normal(size=n) + label),
            "near": (rng.normal(size=n) * 1e-3).tolist(),
            "whole": pl.Series(with_missing(rng.integers(-5, 90, size=n)), dtype=pl.Int16),
            "zero_one": (rng.random(n) < 0.3 + 0.2 * label).astype(int).tolist(),
            "events": rng.poisson(2 + label).tolist(),
            "word": with_missing(np.array(["ja", "nein", "None", 'ö, "q"', "a\nb"])[rng.integers(5, size=n)]),
            "name": [f"n{i}" for i in range(n)],
            "constant": ["same"] * n,
            "nothing": pl.Series([None] * n, dtype=pl.String),
            "label": np.array(["low", "mid", "top"])[label].tolist(),
        }
    )


def write(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame in the format of the suffix."""
    name = path.name
    if name.endswith(".parquet"):
        frame.write_parquet(path)
    elif name.endswith((".arrow", ".feather")):
        feather.write_feather(frame.to_arrow(), path)
    elif name.endswith(".jsonl"):
        frame.write_ndjson(path)
    elif name.endswith(".csv.gz"):
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif name.endswith(".zst"):
        with duckdb.connect() as connection:
            connection.register("frame", frame.to_arrow())
            connection.execute(f"COPY frame TO '{path}' (FORMAT csv, COMPRESSION zstd)")
    else:
        frame.write_csv(path, separator="\t" if name.endswith(".tsv") else ",")
    return path


FORMATS = ["d.csv", "d.tsv", "d.csv.gz", "d.csv.zst", "d.parquet", "d.jsonl", "d.arrow", "d.data"]
OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "told": {"kind": {"whole": "category", "events": "count"}, "drop": ["near"]},
    "missing is a level": {"missing": "level"},
    "words": {"family": {"events": "multinomial", "zero_one": "multinomial"}},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_gives_the_tally_of_the_frame(name: str, options: str, tmp_path: Path) -> None:
    frame, given = table(), OPTIONS[options]
    path = write(frame, tmp_path / name)
    from_frame = NaiveBayes(classical=True, **given).fit(frame, target="label")
    from_file = NaiveBayes(classical=True, **given).fit(path, target="label")
    assert_same_tally(from_file.tally_, from_frame.tally_)
    assert_same_tally(tallybayes.tally(path, target="label", **given), from_frame.tally_)
    assert str(from_file.schema_) == str(from_frame.schema_)
    np.testing.assert_allclose(
        from_file.predict_proba(frame), from_frame.predict_proba(frame), rtol=1e-7
    )  # at 1e8 a mean has eight decimals


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_weights_are_a_column(name: str, tmp_path: Path) -> None:
    frame = table().with_columns(w=pl.int_range(500) % 4 + 0.25)
    path = write(frame, tmp_path / name)
    expected = NaiveBayes(classical=True).fit(frame.drop("w"), "label", sample_weight=frame["w"].to_numpy()).tally_
    assert_same_tally(tally_file(path, "label", weight="w"), expected)
    assert_same_tally(NaiveBayes(classical=True).fit(path, "label", "w").tally_, expected)


def test_streaming_and_pushing_down_count_alike(tmp_path: Path) -> None:
    """A weight of one for every row takes the other way to the same tally."""
    frame = table(3000).drop("far").with_columns(one=pl.lit(1.0))
    path = write(frame, tmp_path / "d.parquet")
    pushed = tally_file(path, "label", drop=["one"])
    assert_same_tally(
        tally_file(path, "label", weight="one"), pushed.select([n for n in pushed.schema.names if n != "one"])
    )


def test_many_files_are_one_table(tmp_path: Path) -> None:
    frame = table()
    for suffix in ("csv", "parquet", "jsonl"):
        for i in range(4):
            write(frame[i * 125 : (i + 1) * 125], tmp_path / f"part-{i}.{suffix}")
        whole = tally_file(write(frame, tmp_path / "whole.parquet"), "label")
        assert_same_tally(tally_file(tmp_path / f"part-*.{suffix}", "label"), whole)
    # Columns are matched by name, not by place.
    frame[:125].select(reversed(frame.columns)).write_csv(tmp_path / "part-0.csv")
    assert tally_file(tmp_path / "part-*.csv", "label").class_weight.sum() == 500


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_a_large_offset_keeps_its_variance(name: str, tmp_path: Path) -> None:
    """Pitfall 4: 1e8, 1e8 + 1, 1e8 + 2 have the variance 2/3."""
    frame = pl.DataFrame({"x": [1e8, 1e8 + 1, 1e8 + 2] * 50_000, "y": ["a", "a", "a"] * 50_000})
    moments: Any = tally_file(write(frame, tmp_path / name), "y").blocks["gaussian"].summary
    np.testing.assert_allclose(moments.m2 / moments.weight, 2 / 3, rtol=1e-9)
    np.testing.assert_allclose(moments.mean, 1e8 + 1, rtol=1e-15)


FIRST = 8192  # rows that are looked at before the whole is counted


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("first", ["offset", "zero", "nan", "null"])
def test_what_the_first_rows_do_not_show_is_counted_exactly(first: str, suffix: str, tmp_path: Path) -> None:
    """Pitfall 4, where the centre of the first rows says nothing of the others, or of one class."""
    rng = np.random.default_rng(0)
    n, label = 3 * FIRST, rng.integers(2, size=3 * FIRST)
    x = 1e9 + rng.normal(size=n) + 1e6 * label  # classes a million deviations apart
    x[:FIRST] = {"offset": x[:FIRST], "zero": 0.0, "nan": np.nan, "null": np.nan}[first]
    late = rng.normal(size=n)
    late[-3:] = np.nan
    frame = pl.DataFrame({"x": x, "late": late, "same": np.full(n, 0.1), "y": label.astype(str)})
    path = write(frame.with_columns(pl.col("x").fill_nan(None)) if first == "null" else frame, tmp_path / f"d.{suffix}")
    moments: Any = tally_file(path, "y").blocks["gaussian"].summary
    for k in range(2):
        for j, values in enumerate((x, late)):
            known = values[(label == k) & ~np.isnan(values)]
            assert moments.weight[k, j] == len(known)
            np.testing.assert_allclose(moments.mean[k, j], known.mean(), rtol=1e-14, atol=1e-14)
            np.testing.assert_allclose(moments.m2[k, j], known.var() * len(known), rtol=1e-9)
    assert not moments.m2[:, 2].any()


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt64, pl.Float32])
def test_narrow_integers_do_not_overflow(kind: Any, tmp_path: Path) -> None:
    """Pitfall 35."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": pl.Series(rng.integers(0, 127, size=2000), dtype=kind), "y": rng.integers(2, size=2000)})
    path = write(frame, tmp_path / "d.parquet")
    assert_same_tally(tally_file(path, "y"), NaiveBayes(classical=True).fit(frame, target="y").tally_)


def test_labels_keep_their_types(tmp_path: Path) -> None:
    for labels in ([0, 1, 1, 3], [True, False, True, True], ["a", "b", "b", "c"], [1.0, 2.0, 2.0, 1.0]):
        frame = pl.DataFrame({"x": [1.0, 2.0, 3.5, 4.0], "y": labels})
        classes = tally_file(write(frame, tmp_path / "d.parquet"), "y").schema.classes
        assert classes == tuple(sorted(set(labels)))
        assert {type(k) for k in classes} == {type(labels[0])}


def test_words_for_yes_and_no_stay_words(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("sky,play\nNA,yes\nnan,no\nNone,yes\n,no\ntrue,yes\n")
    tally = tally_file(tmp_path / "d.csv", "play")
    assert tally.schema.classes == ("no", "yes")
    assert tally.schema.columns[0].levels == ("NA", "None", "nan", "true")


def test_types_fit_all_rows_and_not_only_the_first(tmp_path: Path) -> None:
    n = 60_000
    rows = [f"{i % 7},,{i % 2}" for i in range(n)]
    rows[n // 2 + 12345] = "n/a,,1"
    rows[-1] = "3,2.5,0"
    (tmp_path / "d.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    tally = tally_file(tmp_path / "d.csv", "y")
    assert tally.schema.columns[0].levels == ("0", "1", "2", "3", "4", "5", "6", "n/a")
    assert len(tally_file(tmp_path / "d.csv", "y", kind={"a": "category"}).schema.columns[0].levels or ()) == 8
    number = open_file(tmp_path / "d.csv", missing_values=["n/a"])
    assert tally_file(number, "y").schema.columns[0].kind == "numeric"


def test_rows_without_a_label(tmp_path: Path) -> None:
    frame = table().with_columns(label=pl.when(pl.int_range(500) % 50 == 0).then(None).otherwise(pl.col("label")))
    path = write(frame, tmp_path / "d.parquet")
    with pytest.raises(
        DataError, match=r"10 rows of .* have no label \(column 'label' is empty there\); leave such rows"
    ):
        tally_file(path, "label")
    expected = NaiveBayes(classical=True).fit(frame.drop_nulls("label"), target="label").tally_
    assert_same_tally(tally_file(path, "label", unlabelled="ignore"), expected)
    weighted = write(frame.with_columns(w=pl.lit(2.0)), tmp_path / "w.parquet")
    assert tally_file(weighted, "label", weight="w", unlabelled="ignore").class_weight.sum() == 2 * 490


def test_identifiers_and_many_levels(tmp_path: Path) -> None:
    n = 30_000
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "id": [f"c{i:07d}" for i in rng.permutation(n)],
            "number": rng.permutation(n) + 10,
            "city": [f"city {i}" for i in rng.integers(9000, size=n)],
            "y": rng.integers(2, size=n),
        }
    )
    path = write(frame, tmp_path / "d.parquet")
    tally = tally_file(path, "y")
    assert [c.kind for c in tally.schema.columns] == ["ignored", "ignored", "category"]
    assert_same_tally(tally, NaiveBayes(classical=True).fit(frame, target="y").tally_)


def test_what_is_chosen_by_rows_is_chosen_on_a_sample(tmp_path: Path) -> None:
    frame = table(2000)
    path = write(frame, tmp_path / "d.parquet")
    settings: dict[str, Any] = {"alpha": "auto", "calibration": "temperature"}
    from_file, from_frame = (
        NaiveBayes(classical=True, **settings).fit(path, "label"),
        NaiveBayes(classical=True, **settings).fit(frame, "label"),
    )
    assert from_file.alpha_ == pytest.approx(from_frame.alpha_, rel=1e-3)
    assert from_file.calibration_.after.log_loss.value == pytest.approx(
        from_frame.calibration_.after.log_loss.value, rel=1e-4
    )
    overrides = Overrides.of(None, None, None, "ignore", None)
    of_file, of_frame = open_source(path, "label"), open_source(frame, "label")
    schemas = [source.profile(overrides) for source in (of_file, of_frame)]
    some, same = (source.sample(schema, {}, 100) for source, schema in zip((of_file, of_frame), schemas, strict=True))
    assert some.n_rows == same.n_rows == 100
    np.testing.assert_array_equal(some.keys(), same.keys())


def test_more_files_of_a_known_schema(tmp_path: Path) -> None:
    frame = table(900)
    first, second = write(frame[:600], tmp_path / "a.parquet"), write(frame[600:], tmp_path / "b.csv")
    model = NaiveBayes(classical=True, drop=["row", "name"]).fit(first, "label").model_
    source = open_source(second, "label")
    more = source.count(source.grown(model.schema), model.tally.places, model.settings.families)
    whole = NaiveBayes(classical=True, drop=["row", "name"]).fit(frame, "label").tally_
    assert_same_tally(model.tally + more, whole)
    assert_same_tally(model.tally + more - more, model.tally)
    assert source.facts.class_rows == tuple(more.class_weight)


def test_progress_is_given(tmp_path: Path) -> None:
    path = write(table(2000).with_columns(w=pl.lit(1.0)), tmp_path / "d.parquet")
    shares: list[float] = []
    tally_file(path, "label", weight="w", progress=shares.append)
    assert shares[-1] == 1.0
    assert all(0 <= share <= 1 for share in shares)


# ------------------------------------------------------------------------------------------------ bad input

BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "header only": ("a,y\n", "has no rows"),
    "ragged": ("a,y\n1,x\n2\n3,y,z\n", "line 3 has 1 field, the header 2"),
    "duplicate names": ("a,a,y\n1,2,x\n", "different names"),
    "names that differ in case": ("A,a,y\n1,2,x\n", "different names"),
    "no such target": ("a,yy\n1,x\n", "no column 'y' for the target; did you mean 'yy'"),
    "no such target at all": ("a,b\n1,x\n", "no column 'y' for the target; it has 2 columns: 'a', 'b'"),
    "regression": ("a,y\n1,0.5\n2,1.25\n", "holds 0.5, a number to regress on"),
    "no label at all": ("a,y\n1,\n2,\n", "2 rows of .* have no label"),
    "infinite": ("a,y\n1,x\ninf,x\n3,z\n", "column 'a' is infinite"),
    "overflow": ("a,y\n1,x\n1e300,x\n-1e300,x\n3,z\n", "column 'a' holds -?1e\\+300, whose square overflows"),
    "a date to foretell": ("a,y\n1,2024-01-01\n2,2024-01-02\n", "cannot be a label"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_csv(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    path = tmp_path / "d.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message) as caught:
        tally_file(path, "y")
    assert "\n" not in str(caught.value)


GOOD: dict[str, bytes] = {
    "BOM": b"\xef\xbb\xbfa,y\n1,x\n2,z\n",
    "CRLF": b"a,y\r\n1,x\r\n2,z\r\n",
    "no last newline": b"a,y\n1,x\n2,z",
    "semicolons": b"a;y\n1;x\n2;z\n",
    "quotes": b'"a","y"\n"1","x"\n"2","z"\n',
    "tabs": b"a\ty\n1\tx\n2\tz\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_csv_of_every_make(name: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(GOOD[name])
    tally = tally_file(tmp_path / "d.csv", "y")
    assert tally.schema.names == ("a",)
    assert tally.schema.classes == ("x", "z")
    assert tally.schema.columns[0].kind == "numeric"


def test_quotes_that_come_late_and_hold_newlines(tmp_path: Path) -> None:
    rows = ["plain,x"] * 50_000 + ['"a\nb, ""c""",y']
    (tmp_path / "d.csv").write_text("a,y\n" + "\n".join(rows) + "\n")
    assert tally_file(tmp_path / "d.csv", "y").schema.columns[0].levels == ('a\nb, "c"', "plain")


def test_numbers_with_thousands_separators_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('a,b,y\n"1,234",u,x\n"5,678",v,z\n')
    assert tally_file(tmp_path / "d.csv", "y").schema.columns[0].kind == "numeric"
    given = tally_file(tmp_path / "d.csv", "y", kind={"a": "category"})
    assert given.schema.columns[0].levels == ("1,234", "5,678")
    with pytest.raises(DataError, match=r"holds text .*, so it cannot be numeric"):
        tally_file(tmp_path / "d.csv", "y", kind={"b": "numeric"})


def test_odd_names(tmp_path: Path) -> None:
    names = ["it's", 'say "hi"', "a b", "select", "x;y", "ö"]
    frame = pl.DataFrame({name: [1.0, 2.0, 4.0] for name in names} | {"the target": ["a", "b", "b"]})
    for name in ("d.parquet", "it's.csv", "d[1].csv", "d{1}.parquet", "d [x].jsonl", "d*.csv"):
        path = write(frame, tmp_path / name)
        assert tally_file(path, "the target").schema.names == tuple(names)


def test_nested_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": [1, 2], "b": 1, "y": "x"}\n{"a": [3], "b": 2, "y": "z"}\n')
    with pytest.raises(DataError, match="column 'a' holds lists, records"):
        tally_file(tmp_path / "d.jsonl", "y")
    assert tally_file(tmp_path / "d.jsonl", "y", drop=["a"]).schema.columns[0].kind == "ignored"


def test_paths_that_are_none(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "is a directory that holds no table; give a file, or a pattern such as"),
        (tmp_path / "missing.csv", "there is no file"),
        (tmp_path / "*.csv", "no file matches the pattern"),
    ):
        with pytest.raises(DataError, match=message):
            tally_file(path, "y")
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        (tmp_path / "secret.csv").write_text("a,y\n1,x\n")
        (tmp_path / "secret.csv").chmod(0)
        with pytest.raises(DataError, match="cannot be read: Permission denied"):
            tally_file(tmp_path / "secret.csv", "y")


def test_a_directory_is_the_table_whose_parts_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    for label in ("x", "z"):
        part = folder / f"y={label}"
        part.mkdir(parents=True)
        for number in range(2):
            (part / f"{number}.csv").write_text(f"a,b\n{number},{label * 2}\n{number + 1},{label}\n")
        (part / "_SUCCESS").touch()
        (part / ".0.csv.crc").write_bytes(b"crc")
    found = tally_file(folder, "y")
    assert found.class_weight.tolist() == [4.0, 4.0]
    assert found.schema.names == ("a", "b")
    (folder / "more.jsonl").write_text('{"a": 1, "b": "x", "y": "x"}\n')
    with pytest.raises(DataError, match="holds tables as csv and json"):
        tally_file(folder, "y")


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow", "d.jsonl", "d.csv.gz"])
def test_a_file_that_is_not_what_it_says(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"this is none of it\n" * 10)
    with pytest.raises(DataError, match=r"cannot be read|no table|no column"):
        tally_file(tmp_path / name, "y")


def test_settings_that_make_no_sense(tmp_path: Path) -> None:
    path = write(table(), tmp_path / "d.parquet")
    with pytest.raises(SettingError, match="drop names the column 'nix'"):
        tally_file(path, "label", drop=["nix"])
    with pytest.raises(SettingError, match="target of a file must be the name"):
        NaiveBayes(classical=True).fit(path, [1, 2, 3])
    with pytest.raises(DataError, match="needs the column of class labels"):
        NaiveBayes(classical=True).fit(path)
    with pytest.raises(DataError, match="no column 'ww' for the weights"):
        tally_file(path, "label", weight="ww")
    with pytest.raises(SettingError, match="unlabelled must be 'error' or 'ignore'"):
        tally_file(path, "label", unlabelled="guess")


def test_a_failed_fit_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    path = write(table(), tmp_path / "d.parquet")
    model = NaiveBayes(classical=True).fit(path, "label")
    before = model.tally_
    with pytest.raises(DataError):
        model.fit(path, "labels")
    assert model.tally_ is before


# ------------------------------------------------------------------------------------------------ predictions


@pytest.mark.parametrize("out", ["o.csv", "o.tsv", "o.csv.gz", "o.parquet", "o.jsonl", "o.jsonl.zst"])
@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_predictions_of_a_file_are_those_of_the_frame(name: str, out: str, tmp_path: Path) -> None:
    frame = table(1500)
    model = NaiveBayes(classical=True).fit(frame, target="label")
    rows = frame.drop("label")
    assert model.predict_file(write(rows, tmp_path / name), tmp_path / out) == 1500
    with duckdb.connect() as connection:
        made = pl.from_arrow(connection.sql(f"FROM '{tmp_path / out}'").to_arrow_table())
    assert isinstance(made, pl.DataFrame)
    assert made.columns == [*rows.columns, "prediction", "p_low", "p_mid", "p_top"]
    assert made["row"].to_list() == list(range(1500))
    assert made["prediction"].to_list() == model.predict(frame).tolist()
    np.testing.assert_allclose(made.select("p_low", "p_mid", "p_top").to_numpy(), model.predict_proba(frame), rtol=1e-9)
    assert sorted(os.listdir(tmp_path)) == sorted([name, out])


def test_which_answers_are_written(tmp_path: Path) -> None:
    frame = table(300)
    model, path, out = (
        NaiveBayes(classical=True).fit(frame, target="label"),
        write(frame, tmp_path / "d.parquet"),
        tmp_path / "o.parquet",
    )
    p = model.predict_proba(frame)

    def made(**options: Any) -> pl.DataFrame:
        model.predict_file(path, out, **options)
        return pl.read_parquet(out)

    best = made(beside=False, top=2)
    assert best.columns == ["prediction", "p", "prediction_2", "p_2"]
    np.testing.assert_allclose(best["p"].to_numpy(), p.max(axis=1))
    np.testing.assert_allclose(best["p_2"].to_numpy(), np.sort(p, axis=1)[:, -2])
    sure = made(beside=False, threshold=0.8)["prediction"]
    assert sure.is_null().to_list() == (p.max(axis=1) < 0.8).tolist()
    eager = made(beside=False, least={"top": 0.2})["prediction"].to_list()
    assert [k == "top" for k in eager] == (p[:, 2] >= 0.2).tolist()
    reluctant = made(beside=False, least={"top": 0.9})["prediction"].to_list()
    assert [k == "top" for k in reluctant] == (p[:, 2] >= 0.9).tolist()
    reasons = made(beside=False, reasons=2)["reasons"].to_list()
    explained = model.explain(frame[:1].to_dicts()[0])
    assert reasons[0].startswith(f"{explained.evidence[0].column} = ")
    assert f"{explained.evidence[0].log_odds:+.2f}" in reasons[0]
    assert all(line.count(";") <= 1 for line in reasons)
    with pytest.raises(SettingError, match="between 0 and 1"):
        made(threshold=1.5)
    with pytest.raises(SettingError, match="there is no class 'nix'"):
        made(least={"nix": 0.5})
    with pytest.raises(SettingError, match=r"written as .csv"):
        model.predict_file(path, tmp_path / "o.xlsx")


def test_values_are_read_as_they_were_learned(tmp_path: Path) -> None:
    """A column of codes that were text stays text, even where a file happens to hold digits only."""
    learned = pl.DataFrame(
        {"code": ["007", "A1", "007", "12"] * 5, "x": [1.0, 2.0, 3.0, 4.0] * 5, "y": ["a", "b", "a", "b"] * 5}
    )
    model = NaiveBayes(classical=True, kind={"code": "category"}).fit(learned, "y")
    (tmp_path / "d.csv").write_text("code,x\n007,\n12,\n")
    model.predict_file(tmp_path / "d.csv", tmp_path / "o.csv")
    assert pl.read_csv(tmp_path / "o.csv")["prediction"].to_list() == ["a", "b"]
    (tmp_path / "d.csv").write_text("code,x\n007,many\n")
    with pytest.raises(DataError, match=r"line 2: column 'x' holds 'many', which is not a number"):
        model.predict_file(tmp_path / "d.csv", tmp_path / "o.csv")
    assert pl.read_csv(tmp_path / "o.csv")["prediction"].to_list() == ["a", "b"]


def test_types_that_only_a_late_row_tells(tmp_path: Path) -> None:
    n = 40_000
    learned = pl.DataFrame({"x": [float(i % 9) for i in range(90)], "y": ["a", "b", "b"] * 30})
    model = NaiveBayes(classical=True).fit(learned, "y")
    (tmp_path / "d.csv").write_text("x,y\n" + "3,a\n" * n + "2.5,b\n")
    for out in ("o.csv", "o.parquet"):
        assert model.predict_file(tmp_path / "d.csv", tmp_path / out) == n + 1
    assert sum(batch.num_rows for batch in predict_batches(model.model_, tmp_path / "d.csv")) == n + 1
    source = open_source(tmp_path / "d.csv", "y")
    more = source.count(source.grown(model.schema_), model.tally_.places, model.model_.settings.families)
    assert more.class_weight.tolist() == [n, 1]
    assert source.facts.class_rows == (n, 1)
    rows = source.sample(model.schema_, model.tally_.places, 10**6)
    assert (rows.n_rows, source.facts.unlabelled) == (n + 1, 0)


def test_predictions_for_other_columns(tmp_path: Path) -> None:
    frame = table(100)
    model = NaiveBayes(classical=True).fit(frame, target="label")
    with pytest.raises(DataError, match="has none of the columns that the model knows"):
        model.predict_file(write(pl.DataFrame({"q": [1, 2]}), tmp_path / "q.csv"), tmp_path / "o.csv")
    with pytest.warns(ColumnWarning, match="lacks column"):
        model.predict_file(write(frame.drop("word"), tmp_path / "w.csv"), tmp_path / "o.csv")
    with pytest.raises(DataError, match="already has a column 'prediction'"):
        model.predict_file(write(frame.with_columns(prediction=pl.lit(1)), tmp_path / "p.csv"), tmp_path / "o.csv")
    empty = write(frame[:0], tmp_path / "e.csv")
    assert model.predict_file(empty, tmp_path / "o.csv") == 0


def test_the_record_of_a_file_is_json(tmp_path: Path) -> None:
    frame = table(50)
    model = NaiveBayes(classical=True).fit(frame, target="label")
    model.predict_file(write(frame, tmp_path / "d.jsonl"), tmp_path / "o.jsonl", beside=False)
    assert set(json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])) == {
        "prediction",
        "p_low",
        "p_mid",
        "p_top",
    }


@pytest.mark.parametrize("n_contents", [3, 50, 2500])
def test_a_sample_of_a_file_is_that_of_its_frame_whatever_its_copies(n_contents: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    content = np.minimum(rng.geometric(min(0.7, 4 / n_contents), 3000), n_contents)
    text = np.array(["it's", "\u0394", "", *(f"level {i}" for i in range(2500))])[content]
    frame = pl.DataFrame({"number": content / 7, "text": text, "y": np.where(content % 3 > 0, "yes", "no")})
    frame = frame.with_columns(text=pl.when(pl.col("number") > 3).then(None).otherwise(pl.col("text")))
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=500)
    found = []
    for data in (tmp_path / "rows.parquet", frame.sample(fraction=1.0, shuffle=True, seed=1)):
        source = open_source(data, "y")
        schema = source.profile(Overrides.of({"text": "category"}, None, None, "ignore", None))
        rows = source.sample(schema, {"gaussian": [0], "categorical": [1]}, 200).rows(0, 200)
        assert rows.labels is not None
        blocks = [block.x if isinstance(block.x, np.ndarray) else block.x.matrix for block in rows.blocks.values()]
        found.append(np.column_stack([*blocks, rows.labels.codes]))
    np.testing.assert_array_equal(*found)


def test_columns_of_pairs_are_read_where_their_own_counts_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallybayes.learning.learn.SAMPLE", 3000)  # of all rows, which are counted in another pass
    rng = np.random.default_rng(0)
    left, right, label = rng.integers(3, size=(3, 4000))
    right = np.where(rng.random(4000) < 0.7, (label - left) % 3, right)  # together they tell the label
    words = np.array(["low", "middle", "high"])
    frame = pl.DataFrame({"left": words[left], "right": words[right], "label": words[label]})
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    want = tallybayes.learn(frame, "label")
    assert "pair" in want.tally.blocks
    for suffix in ("parquet", "csv"):
        got = tallybayes.learn(tmp_path / f"rows.{suffix}", "label")
        assert_same_tally(got.tally, want.tally)


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.jsonl"])
def test_a_file_that_changes_while_it_is_read_is_refused(name: str, tmp_path: Path) -> None:
    frame = table(400)
    path = write(frame, tmp_path / name)

    def progress(phase: str, share: float | None) -> None:
        if phase == "sampling rows":
            write(pl.concat((frame, frame)), path)

    with pytest.raises(DataError, match="was changed while it was read"):
        learn(path, "label", Options(progress=progress))
    assert learn(path, "label").provenance.rows == 800
