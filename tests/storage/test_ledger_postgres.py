"""A ledger in PostgreSQL: the same slices, receipts and errors as in a file, and writers in many processes."""

import os
import time
from contextlib import ExitStack

import numpy as np
import pytest

from tallybayes import Ledger, errors
from tallybayes.cli import main
from tallybayes.storage.ledger import core, sums
from tallybayes.storage.lock import LockedError
from tests.storage import ledger_fuzz


@pytest.fixture(scope="module")
def address(postgres):
    """The address of a database on the server, without the name of a schema."""
    return f"postgresql://{postgres['user']}@/{postgres['dbname']}?host={postgres['host']}"


@pytest.fixture
def opened():
    """Opens or creates ledgers, and closes them."""
    with ExitStack() as stack:
        yield stack.enter_context


def filled(path):
    ledger = Ledger.create(path, ledger_fuzz.plan(), period="step")
    with ledger.appending(every=40) as append:
        for n in range(150):
            append(ledger_fuzz.rows(n), period=n // 4, key=f"k{n % 5}", batch_id=str(n))
    return ledger


def test_a_database_and_a_file_give_the_same(address, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(core, "FOLD", 60)
    monkeypatch.setattr(sums, "FEW", 2)
    one, other = (opened(filled(path)) for path in (f"{address}#same", tmp_path / "same.ledger"))
    for ledger in (one, other):
        assert ledger.add(ledger_fuzz.rows(7), period=1, key="k2", batch_id="7").is_new is False
        with pytest.raises(errors.BatchError):
            ledger.add(ledger_fuzz.rows(8), period=1, key="k2", batch_id="7")
        assert ledger.forget("k3").batches == 30
        with pytest.raises(errors.ForgottenError):
            ledger.forget("k3")
        assert ledger.verify().is_sound
    slices = (
        {},
        {"since": 3, "until": 20},
        {"keys": ["k0", "k1", "k4"], "half_life": 5},
        {"without": "k2"},
        {"window": 9},
    )
    for each in slices:
        assert one.model(**each).tally == other.model(**each).tally
    differ = {"path", "head"}
    assert {k: v for k, v in one.overview().items() if k not in differ} == {
        k: v for k, v in other.overview().items() if k not in differ
    }
    again = opened(Ledger.open(f"{address}#same"))
    assert again.keys() == other.keys()
    assert again.verify(one.receipts()[5]).is_sound
    for ledger in (one, other):
        ledger.rebuild()
    assert again.model(keys=["k0", "k1", "k4"]).tally == other.model(keys=["k0", "k1", "k4"]).tally
    with pytest.raises(errors.LedgerError, match="exists already"):
        Ledger.create(f"{address}#same", ledger_fuzz.plan())


def test_what_was_changed_is_found(address, opened):
    ledger = opened(filled(f"{address}#changed"))
    ledger._core.store.run("UPDATE content SET amounts = ? WHERE entry = 9", (b"\1" * 9,))
    found = ledger.verify()
    assert not found.is_sound
    assert "entry 9" in str(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_several_writers_lose_nothing_and_block_no_reader(address):
    assert ledger_fuzz.writers(f"{address}#writers", 4, 12) == (48, 0)


def test_a_writer_that_waits_in_vain_changes_nothing(address, opened):
    ledger, other = opened(filled(f"{address}#locked")), opened(Ledger.open(f"{address}#locked", wait=0.05))
    with ledger._core.store.transaction(write=True):
        start = time.monotonic()
        with pytest.raises(LockedError):
            other.add(ledger_fuzz.rows(1), period=1, key="new")
        assert time.monotonic() - start < 30
        assert np.isclose(other.model().tally.class_weight.sum(), 150)
    assert list(other.keys()) == [f"k{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("end", "message"),
    [("#nothing", "is no ledger"), ("&user=nobody#x", "cannot be reached"), ('#a"b', "cannot be the name")],
)
def test_what_cannot_be_opened_says_why(address, end, message):
    make = Ledger.open if '"' not in end else lambda path: Ledger.create(path, ledger_fuzz.plan())
    with pytest.raises(errors.TallybayesError, match=message):
        make(address + end)


def test_a_password_is_never_shown():
    with pytest.raises(errors.LedgerError) as caught:
        Ledger.open("postgresql://me:secret@127.0.0.1:1/none", wait=1)
    assert "secret" not in str(caught.value)
    assert "postgresql://me@127.0.0.1:1/none#ledger" in str(caught.value)


def test_the_command_line_takes_addresses(address, capsys):
    filled(f"{address}#shop").close()
    assert main(["ledger", "verify", f"{address}#shop"]) == 0
    assert main(["drift", f"{address}#shop@0..9", f"{address}#shop@10..99"]) == 0
    assert "40 rows before, 110 after" in capsys.readouterr().out
