"""A ledger: what it counts, what it refuses, its chain, and what it withstands."""

import datetime as dt
import hashlib
import json
import os
import signal
import sqlite3
import threading

import numpy as np
import pandas as pd
import pytest

import tallybayes
from tallybayes import Ledger, NaiveBayes, errors, rows, storage
from tallybayes.cli import main
from tallybayes.storage.ledger import writing
from tallybayes.storage.ledger.periods import Calendar
from tests.storage import ledger_fuzz

DAY = {"colour": ["red", "blue"], "size": [1.5, 2.5], "label": ["yes", "no"]}


@pytest.fixture(scope="module")
def plan():
    n = 40
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "blue", "green"], n).tolist(), rng.normal(2, 1, n).tolist()
    label = ["yes" if c == "red" else "no" for c in colour]
    return NaiveBayes(classical=True).fit({"colour": colour, "size": size, "label": label}, target="label")


@pytest.fixture
def ledger(plan, tmp_path):
    with Ledger.create(tmp_path / "shop.ledger", plan) as found:
        yield found


def posterior(model, data=DAY):
    return model.posterior(rows(model, {name: data[name] for name in ("colour", "size")}))


# ------------------------------------------------------------------------------------------------ adding


def test_a_batch_counts_once_and_says_so(ledger):
    first = ledger.add(DAY, period="2026-03-03", key="north", batch_id="a")
    again = ledger.add(DAY, period="2026-03-03", key="north", batch_id="a")
    assert (first.is_new, again.is_new) == (True, False)
    assert (again.number, again.chain) == (first.number, first.chain)
    assert "counts once" in str(again)
    assert ledger.model().provenance.rows == 2
    assert ledger.add(DAY, period="2026-03-03", key="south").is_new  # the id is of content, period and key
    assert not ledger.add(DAY, period=dt.date(2026, 3, 3), key="south").is_new
    assert ledger.add(DAY, period="2026-03-04", key="south").is_new


def test_another_batch_of_the_same_id_is_an_error(ledger):
    ledger.add(DAY, period="2026-03-03", key="north", batch_id="a")
    for other in (
        {"rows": DAY, "period": "2026-03-04", "key": "north"},
        {"rows": DAY, "period": "2026-03-03", "key": "south"},
        {"rows": {**DAY, "size": [1.5, 9.0]}, "period": "2026-03-03", "key": "north"},
    ):
        with pytest.raises(errors.BatchError, match="'a' was added before with other rows"):
            ledger.add(other.pop("rows"), batch_id="a", **other)
    with ledger.appending() as append:
        append(DAY, period="2026-03-07", batch_id="new")
        append({**DAY, "size": [1.5, 9.0]}, period="2026-03-07", batch_id="new")
        with pytest.raises(errors.BatchError):
            append.flush()
    assert ledger.overview()["batches"] == 1  # all of a group or nothing


def test_all_ways_to_add_rows_agree(ledger, plan, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("colour,size,label\nred,1.5,yes\nblue,2.5,no\n")
    table = {**DAY, "day": ["2026-01-01"] * 2, "site": ["t"] * 2}
    counted = plan.blank().partial_fit({k: DAY[k] for k in ("colour", "size")}, DAY["label"]).model_.tally
    ledger.add(DAY, period="2026-01-01", key="a")
    ledger.add({k: DAY[k] for k in ("colour", "size")}, DAY["label"], period="2026-01-01", key="b")
    ledger.add(path, period="2026-01-01", key="c")
    ledger.add(counted, period="2026-01-01", key="d")
    ledger.add_by(table, period="day", key="site")
    ledger.add([{"colour": "red", "size": 1.5, "label": "yes"}, {"colour": "blue", "size": 2.5, "label": "no"}],
               period="2026-01-01", key="e")  # fmt: skip
    want = ledger.model(keys="a")
    for key in "bcdet":
        assert ledger.model(keys=key).tally == want.tally, key
    np.testing.assert_allclose(posterior(ledger.model()), posterior(ledger.model(keys="*")))


def test_a_table_is_added_by_its_columns(ledger):
    table = {
        "colour": ["red", "blue", "red", "green"], "size": [1.0, 2.0, 3.0, 4.0], "label": ["yes", "no", "yes", "no"],
        "day": [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 1), dt.date(2026, 1, 1)],
        "site": ["n", "n", "n", "s"],
    }  # fmt: skip
    receipts = ledger.add_by(table, period="day", key="site")
    assert sorted((r.period, r.key, r.rows) for r in receipts) == [
        ("2026-01-01", "n", 2), ("2026-01-01", "s", 1), ("2026-01-02", "n", 1),
    ]  # fmt: skip
    assert not any(r.is_new for r in ledger.add_by(table, period="day", key="site"))
    with pytest.raises(errors.DataError, match="'site' is missing in row 2"):
        ledger.add_by({**table, "site": ["n", None, "n", "s"]}, period="day", key="site")


def test_a_key_may_be_a_column_of_the_model_too(ledger):
    ledger.add_by({**DAY, "day": ["2026-01-01"] * 2}, period="day", key="colour")
    ledger.add(DAY, period="2026-01-02", key="both")
    np.testing.assert_array_equal(posterior(ledger.model(keys=["red", "blue"])), posterior(ledger.model(keys="both")))


def test_levels_and_classes_grow_and_leave_with_their_rows(ledger, tmp_path):
    ledger.add(DAY, period="2026-01-01", key="a")
    secret = {"colour": ["ultraviolet-of-key-b"], "size": [9.0], "label": ["perhaps"]}
    ledger.add(secret, period="2026-01-02", key="b")
    assert ledger.model(keys="a").schema.classes == ("no", "yes")
    assert "perhaps" in ledger.model().schema.classes
    ledger.forget("b")
    model = ledger.model()
    assert model.tally == ledger.model(keys="a").tally
    assert model.schema.classes == ("no", "yes")
    ledger.close()
    for path in tmp_path.iterdir():
        assert b"ultraviolet-of-key-b" not in path.read_bytes(), path  # overwritten, not only unlinked
        assert b"perhaps" not in path.read_bytes(), path
    with Ledger.open(tmp_path / "shop.ledger") as again:
        assert again.verify().is_sound
        again.add(secret, period="2026-01-02", key="c", batch_id="new")  # the level comes back under a new number
        assert again.verify().is_sound
        assert again.model(keys="c").tally.class_weight.tolist() == [0.0, 1.0, 0.0]


# ------------------------------------------------------------------------------------------------ slices


def test_slices_by_time(ledger):
    for day, colour in ((1, "red"), (2, "blue"), (10, "green")):
        ledger.add({"colour": [colour], "size": [float(day)], "label": ["yes"]}, period=dt.date(2026, 3, day))

    def weight(**slice_):
        return float(ledger.model(**slice_).tally.class_weight.sum())

    assert weight(since="2026-03-02") == 2
    assert weight(until="2026-03-02") == 2
    assert weight(since="2026-03", until="2026-03") == 3
    assert weight(window=9) == 2
    assert weight(window=dt.timedelta(days=1)) == 1
    assert weight(half_life=1) == 1 + 2**-8 + 2**-9
    assert weight(half_life=2, until="2026-03-02") == 1 + 2**-0.5
    assert ledger.model(half_life=1).provenance.rows == 3
    first = ledger.receipts()[0]
    assert weight(as_of=first) == weight(as_of=first.number) == 1
    assert weight(as_of=dt.datetime.now(dt.UTC) + dt.timedelta(1)) == 3
    assert weight(as_of="2999-01-01") == weight(as_of=10**30) == 3
    with pytest.raises(errors.LedgerError, match="no rows"):
        ledger.model(as_of="2020-01-01")


def test_two_slices_of_one_ledger_are_not_added_by_mistake(ledger):
    for day in ("2026-01-01", "2026-01-02"):
        ledger.add({**DAY, "size": [float(day[-1]), 2.0]}, period=day)
    with pytest.raises(errors.SettingError, match="rows would count twice"):
        ledger.model() + ledger.model(since="2026-01-02")


def test_a_model_of_a_slice_is_a_model(ledger, tmp_path):
    ledger.add(DAY, period="2026-01-01")
    storage.write(ledger.model(), tmp_path / "m.tally")
    assert tallybayes.load(tmp_path / "m.tally").predict({"colour": ["red"], "size": [1.5]}).tolist() == ["yes"]


def test_half_life_and_window_are_chosen_by_past_loss(plan, tmp_path):
    """What a colour means is turned round after half of the days: a short memory predicts better."""
    ledger = Ledger.create(tmp_path / "x.ledger", plan, period="step", half_lives=[1, 1000], windows=(2, 500))
    with pytest.raises(errors.LedgerError, match="needs trials"):
        Ledger.create(tmp_path / "y.ledger", plan).model(half_life="auto")
    for step in range(12):
        old = step < 6
        for key in "ab":
            label = ["yes" if old else "no"] * 3 + ["no" if old else "yes"] * 3
            ledger.add({"colour": ["red"] * 3 + ["blue"] * 3, "size": [2.0] * 6, "label": label}, period=step, key=key)
    auto, short = ledger.model(half_life="auto"), ledger.model(half_life=1)
    assert auto.tally == short.tally
    assert ledger.model(window="auto").tally == ledger.model(window=2).tally
    past = ledger.model(half_life="auto", until=5)  # all alike, or nearly: nothing had changed by then
    assert past.tally.class_weight.sum() > 60
    assert ledger.verify().is_sound


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda it: it.add(DAY, period="2026-03"), errors.PeriodError, "overlaps several"),
        (lambda it: it.add(DAY, period="2026-13-01"), errors.PeriodError, "no period"),
        (lambda it: it.add(DAY, period="soon"), errors.PeriodError, "no period"),
        (lambda it: it.add(DAY, period="2026-01-01", key=""), errors.LedgerError, "a key is a text"),
        (lambda it: it.add(DAY, period="2026-01-01", key="\ud800"), errors.LedgerError, "half a character"),
        (lambda it: it.add(DAY, period="2026-01-01", batch_id=""), errors.LedgerError, "a batch id is a text"),
        (lambda it: it.add({name: [] for name in DAY}, period="2026-01-01"), errors.DataError, "no rows to add"),
        (lambda it: it.add({**DAY, "size": [1.0, np.inf]}, period="2026-01-01"), errors.DataError, "infinite"),
        (lambda it: it.add({**DAY, "label": ["yes", None]}, period="2026-01-01"), errors.DataError, "no label"),
        (lambda it: it.add(DAY, period="2026-01-01", weight=[1e300, 1.0]), errors.DataError, "weigh 1e.300"),
        (lambda it: it.model(as_of=-(10**30)), errors.LedgerError, "no rows"),
        (lambda it: it.model(keys="nort"), errors.UnknownKeyError, "did you mean 'north'"),
        (lambda it: it.model(keys="x*"), errors.UnknownKeyError, "matches"),
        (lambda it: it.model(without=["south"]), errors.UnknownKeyError, "no key 'south'"),
        (lambda it: it.model(since="2026-02", until="2026-01"), errors.PeriodError, "is after"),
        (lambda it: it.model(half_life=0), errors.PeriodError, "above 0"),
        (lambda it: it.model(half_life="often"), errors.PeriodError, "above 0"),
        (lambda it: it.model(half_life=1e-300, until="2027"), errors.LedgerError, "nothing is left"),
        (lambda it: it.model(since="2027"), errors.LedgerError, "no rows"),
        (lambda it: it.model(as_of="soon"), errors.PeriodError, "no time; give a date"),
        (lambda it: it.add(DAY, period="2026-01-01", key="a\0b"), errors.LedgerError, "a key is a text"),
        (lambda it: it.add(DAY, period="2026-01-01", key="x" * 1001), errors.LedgerError, "a key is a text"),
        (lambda it: it.forget("south"), errors.UnknownKeyError, "no key 'south'"),
        (lambda it: Ledger.create(it.overview()["path"], it.plan), errors.LedgerError, "exists already"),
        (lambda it: Ledger.create("/no/such/folder/x", it.plan), FileNotFoundError, "no directory"),
        (lambda it: Ledger.create("x", {"a": 1}), errors.LedgerError, "created for a model"),
        (lambda it: Ledger.create("x", it.plan, period="fortnight"), errors.PeriodError, "must be hour"),
    ],
)  # fmt: skip
def test_bad_input_is_a_clear_error_and_changes_nothing(ledger, call, error, message):
    ledger.add(DAY, period="2026-01-01", key="north")
    before = ledger.overview()
    with pytest.raises(error, match=message):
        call(ledger)
    assert ledger.overview() == before
    assert ledger.verify().is_sound
    ledger.add({**DAY, "colour": ["violet", "red"]}, period="2026-01-02", key="north")  # it goes on


@pytest.mark.parametrize("key", ["é日本", "x" * 1000, " ", "a*b", "[z]", "'; DROP TABLE content; --", "\n", "😀"])
def test_any_text_is_a_key(ledger, key):
    ledger.add(DAY, period="2026-01-02", key=key)
    ledger.add(DAY, period="2026-01-01", key="another")  # and periods come in any order
    assert ledger.model(keys=key, window=np.int64(1)).provenance.rows == 2
    with pytest.raises(errors.UnknownKeyError) as caught:
        ledger.model(keys="nobody")
    assert len(str(caught.value)) < 200
    ledger.forget(key)
    assert ledger.keys() == ["another"]
    assert ledger.verify().is_sound


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="sizes of files are limited on POSIX only")
def test_a_disk_that_takes_no_more_is_an_error_and_loses_nothing(ledger):
    import resource

    ledger.add(DAY, period="2026-01-01", key="north")
    path = ledger.overview()["path"]
    before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 100_000, limits[1]))
    added: list[str] = []

    def fill():
        for number in range(1000):
            added.append(ledger.add(DAY, period="2026-01-02", key=f"k{number}").batch)

    try:
        with pytest.raises(OSError, match="refused what was written"):
            fill()
        assert ledger.model(keys="north").provenance.rows == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert ledger.overview()["batches"] == 1 + len(added)
    ledger.add(DAY, period="2026-01-03", key="later")
    assert ledger.verify().is_sound


def test_forgetting_twice_and_adding_what_was_forgotten(ledger):
    ledger.add(DAY, period="2026-01-01", key="north", batch_id="a")
    ledger.add(DAY, period="2026-01-01", key="south", batch_id="b")
    receipt = ledger.forget("north")
    assert (receipt.action, receipt.rows, receipt.batches) == ("forget", 2, 1)
    with pytest.raises(errors.ForgottenError, match="was forgotten already: entry"):
        ledger.forget("north")
    with pytest.raises(errors.ForgottenError, match="was forgotten already"):
        ledger.model(keys="north")
    with pytest.raises(errors.ForgottenError, match="'a' was forgotten with the key 'north'"):
        ledger.add(DAY, period="2026-01-01", key="north", batch_id="a")  # a replay brings nothing back
    assert ledger.keys() == ["south"]
    assert ledger.add(DAY, period="2026-01-05", key="north", batch_id="c").is_new  # a key may come back
    assert ledger.verify().is_sound


def test_ledgers_of_different_plans_do_not_mix(ledger, plan, tmp_path):
    people = {"colour": ["red", "blue"] * 9, "age": [1.5, 2.5] * 9, "label": ["a", "b"] * 9}
    other = NaiveBayes(classical=True).fit(people, target="label")
    with pytest.raises(errors.PlanError, match="'age'"):
        ledger.add(other.model_.tally, period="2026-01-01")
    binned = NaiveBayes(classical=True, family={"size": "gamma"}).fit({k: DAY[k] * 9 for k in DAY}, target="label")
    with pytest.raises(errors.PlanError, match="other columns or families"):
        ledger.add(binned.model_.tally, period="2026-01-01")
    second = Ledger.create(tmp_path / "other.ledger", other)
    second.add({"colour": ["red"], "age": [1.0], "label": ["a"]}, period="2026-01-01")
    with pytest.raises(errors.PlanError):
        ledger.add(second.model().tally, period="2026-01-01")
    assert ledger.overview()["batches"] == 0


def test_a_clock_that_goes_backwards_is_refused(ledger, monkeypatch):
    ledger.add(DAY, period="2026-01-01")
    now = writing.time.time_ns()
    monkeypatch.setattr(writing.time, "time_ns", lambda: now - 2 * 10**9)  # seconds are no matter
    second = ledger.add(DAY, period="2026-01-02")
    assert second.time >= ledger.receipts()[0].time
    monkeypatch.setattr(writing.time, "time_ns", lambda: now - 3600 * 10**9)
    with pytest.raises(errors.ClockError, match="nothing was changed"):
        ledger.add(DAY, period="2026-01-03")
    with pytest.raises(errors.ClockError):
        ledger.forget("all")
    assert ledger.overview()["batches"] == 2


# ------------------------------------------------------------------------------------------------ the chain


def test_the_chain_is_a_sha256_of_what_is_written_down(ledger):
    """Recomputed by hand from the receipts' own fields."""
    ledger.add(DAY, period="2026-01-01", key="north", batch_id="a")
    connection = sqlite3.connect(ledger.overview()["path"])
    before = b"\0" * 32
    for number, time, action, batch, period, key, n, digest, chain in connection.execute("SELECT * FROM entry"):
        text = json.dumps([number, time, action, batch, period, key, n, digest.hex()], separators=(",", ":"))
        before = hashlib.sha256(before + text.encode()).digest()
        assert before == chain
    connection.close()
    assert ledger.verify().head == before.hex() == ledger.overview()["head"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE entry SET rows = rows + 1 WHERE number = 3", "was changed"),
        ("UPDATE entry SET key = 'x' WHERE number = 3", "was changed"),
        ("DELETE FROM entry WHERE number = 3", "is missing"),
        ("UPDATE content SET amounts = zeroblob(length(amounts))", "was changed"),
        ("UPDATE content SET period = period + 1", "not that of the chain"),
        ("DELETE FROM content WHERE entry = (SELECT max(entry) FROM content)", "is missing"),
        ("UPDATE level SET value = '\"violet\"'", "was changed"),
        ("UPDATE cell SET addresses = zeroblob(length(addresses))", ""),
        ("UPDATE sums SET amounts = zeroblob(length(amounts)) WHERE page = -1", "differ from the batches"),
        ("DELETE FROM sums WHERE span = 8", "rebuild"),
        ("UPDATE meta SET value = 'hour' WHERE name = 'unit'", "plan was changed"),
    ],
)
def test_whatever_is_changed_is_found(ledger, sql, message):
    for n, key in enumerate("abab"):
        ledger.add({"colour": [f"new{n}"], "size": [float(n)], "label": ["yes"]}, period=f"2026-01-0{n + 1}", key=key)
    ledger.forget("b")
    ledger.compact()
    path = ledger.overview()["path"]
    assert ledger.verify().is_sound
    ledger.close()
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()
    try:
        with Ledger.open(path) as again:
            found = again.verify()
            assert not found.is_sound
            assert message in "\n".join(found.problems)
            if message in ("rebuild", "differ from the batches"):
                again.rebuild()
                assert again.verify().is_sound
    except errors.ModelFileError:
        assert message == ""


def test_verifying_says_how_far_it_is(ledger):
    ledger.add(DAY, period="2026-01-01", key="a")
    ledger.compact()
    told = []
    assert ledger.verify(progress=lambda name, share: told.append((name, share))).is_sound
    assert [name.split()[0] for name, _ in told] == ["reading", "checking", "checking", "summing"]
    assert [share for _, share in told] == [None, None, 1.0, 1.0]


def test_an_old_receipt_shows_that_nothing_before_it_was_changed(ledger):
    receipt = ledger.add(DAY, period="2026-01-01", key="a")
    ledger.add(DAY, period="2026-01-02", key="b")
    for noted in (receipt, receipt.as_dict(), receipt.chain):
        assert ledger.verify(noted).is_sound
    for other in ("00" * 32, "no hash", {"chain": receipt.chain, "number": 99}):
        assert "none of this ledger's" in ledger.verify(other).problems[0]


# ------------------------------------------------------------------------------------------------ files and processes


def test_an_empty_ledger_is_sound_and_has_no_model(ledger):
    assert ledger.verify().is_sound
    assert repr(ledger) == "Ledger(0 batches, 0 keys, by day)"
    with pytest.raises(errors.LedgerError, match="no rows"):
        ledger.model()


def test_class_weights_count_in_the_ledger_too(tmp_path):
    table = {"colour": ["red", "blue", "red"] * 10, "size": [1.0, 2.0, 3.0] * 10, "label": ["yes", "no", "yes"] * 10}
    weighted = NaiveBayes(classical=True, class_weight={"no": 3.0}).fit(table, target="label")
    with Ledger.create(tmp_path / "x.ledger", weighted) as found:
        found.add(table, period="2026-01-01")
        assert found.model().tally.class_weight.tolist() == weighted.model_.tally.class_weight.tolist() == [30.0, 20.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_copy_of_the_process_has_to_open_the_file_itself(ledger):
    def work():
        with pytest.raises(errors.LedgerError, match="open it again"):
            ledger.add(DAY, period="2026-01-01")

    assert os.waitpid(ledger_fuzz.child(work), 0)[1] == 0


def test_another_process_may_forget_what_this_one_knows(ledger):
    """Two doors to one file: levels that one erases are new to the other."""
    odd = {"colour": ["violet"], "size": [1.0], "label": ["yes"]}
    with Ledger.open(ledger.overview()["path"]) as other:
        ledger.add(odd, period="2026-01-01", key="a")
        other.add(odd, period="2026-01-02", key="b")
        other.forget("a")
        ledger.forget("b")
        other.add(odd, period="2026-01-03", key="c")
        assert ledger.model().tally == other.model().tally
        assert "violet" in ledger.model().schema.columns[0].levels
        assert ledger.verify().is_sound


def test_what_is_no_ledger_is_refused(plan, tmp_path):
    with pytest.raises(FileNotFoundError):
        Ledger.open(tmp_path / "nothing")
    with pytest.raises(errors.ModelFileError):
        Ledger.open(tmp_path)
    plan.save(tmp_path / "m.tally")
    (tmp_path / "empty").touch()
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE meta (name, value)").connection.close()
    for name in ("m.tally", "empty", "other.db"):
        with pytest.raises(errors.ModelFileError):
            Ledger.open(tmp_path / name)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER evil AFTER INSERT ON entry BEGIN DELETE FROM content; END",
        "CREATE TABLE more (x)",
        "DROP TABLE sums",
        "PRAGMA user_version = 99",
    ],
)
def test_tables_and_triggers_of_others_are_refused(ledger, sql):
    path = ledger.overview()["path"]
    ledger.close()
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()
    with pytest.raises(errors.ModelFileError):
        Ledger.open(path)


def test_damaged_files_are_refused_or_found_out(tmp_path):
    found, failures = ledger_fuzz.damage(tmp_path, (*range(38), 277, 929))  # 277: an error of Python's own sqlite3
    assert not failures
    assert found["refused"] + found["unsound"] > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_writers_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path):
    sure, lost, broken = ledger_fuzz.kills(tmp_path / "kills.ledger", 5)
    assert (lost, broken) == (0, 0)
    assert sure > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_several_writers_lose_nothing_and_block_no_reader(tmp_path):
    assert ledger_fuzz.writers(tmp_path / "writers.ledger", 3, 12) == (36, 0)


def test_one_ledger_serves_several_threads(ledger):
    def work(who):
        for n in range(5):
            ledger.add({**DAY, "colour": [f"c{who}{n}", "red"]}, period="2026-01-01", key=f"k{who}")
            ledger.model()

    threads = [threading.Thread(target=work, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.model().provenance.rows == 30
    assert ledger.verify().is_sound


# ------------------------------------------------------------------------------------------------ periods, commands


@pytest.mark.parametrize(
    ("unit", "given", "name"),
    [
        ("day", "2026-03-03", "2026-03-03"),
        ("day", dt.datetime(2026, 3, 3, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-2))), "2026-03-04"),
        ("day", np.datetime64("2026-03-03"), "2026-03-03"),
        ("day", "2026-03-03T23:30:00-05:00", "2026-03-04"),
        ("hour", "2026-03-03T23:30:00Z", "2026-03-03T23"),
        ("day", "2026-03-03T99:30:00Z", None),
        ("day", pd.Timestamp("2026-03-03 23:30", tz="America/New_York"), "2026-03-04"),
        ("day", pd.NaT, None),
        ("day", np.datetime64("NaT"), None),
        ("hour", "2026-03-03T14:59", "2026-03-03T14"),
        ("week", dt.date(2026, 1, 1), "2026-W01"),
        ("week", "2024-W53", None),
        ("week", "2020-W53", "2020-W53"),
        ("month", "2026-03-31", "2026-03"),
        ("month", dt.date(1969, 12, 31), "1969-12"),
        ("step", "17", "17"),
        ("step", -3, "-3"),
        ("step", True, None),
        ("day", "2026-02-29", None),
        ("day", 17, None),
        ("hour", "2026-03-03", None),
        ("hour", "2026-03-03T25", None),
    ],
)
def test_periods(unit, given, name):
    calendar = Calendar(unit)
    if name is None:
        with pytest.raises(errors.PeriodError):
            calendar.one(given)
    else:
        assert calendar.name(calendar.one(given)) == name


def test_the_command_line(plan, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan.save("m.tally")
    lines = [
        "day,site,colour,size,label",
        "2026-01-01,n,red,1.5,yes",
        "2026-01-01,s,blue,2.5,no",
        "2026-01-02,n,red,1.0,yes",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")

    def run(command, code=0):
        assert main(["ledger", *command.split()]) == code
        out = capsys.readouterr()
        return out.out + out.err

    run("create x.ledger m.tally --half-lives 2,8")
    assert "3 rows in 3 batches" in run("add x.ledger rows.csv --period-column day --key-column site")
    assert "3 batches were added before" in run("add x.ledger rows.csv --period-column day --key-column site")
    (tmp_path / "receipt.json").write_text(run("add x.ledger rows.csv --period 2026-01-03 --key w --json --quiet"))
    assert "Tally(5 rows" in run("model x.ledger --without s -o out.tally")
    assert "Tally(1 row" in run("model x.ledger --keys s --as-of 6 -o out.tally")
    assert "out.tally" in run("model x.ledger --half-life auto -o out.tally")
    assert "forgotten: 1 row in 1 batch" in run("forget x.ledger s")
    assert "forgotten already" in run("forget x.ledger s", 1)
    assert "(--batch-id …)" in run("add x.ledger rows.csv --period-column day --key-column site", 1)
    assert "with ledger create --windows auto" in run("model x.ledger --window auto -o out.tally", 1)
    assert "sound" in run("verify x.ledger --receipt receipt.json")
    assert "NOT SOUND" in run("verify x.ledger --receipt " + "0" * 64, 1)
    shown = json.loads(run("show x.ledger --keys --entries 2 --json"))
    assert (shown["rows"], shown["names"], len(shown["receipts"])) == (5, ["n", "w"], 2)
    assert "--key-column needs" in run("add x.ledger rows.csv --period 2026-01-03 --key-column site", 1)
    assert "overlaps" in run("add x.ledger rows.csv --period 2026-01", 1)
