"""The memory of a filter: a message counts once, whatever happens in between."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tallybayes.core.model import Model
from tallybayes.errors import DataError, ModelFileError, UnlearnError
from tallybayes.mail import database, filter, ledger
from tallybayes.mail.identity import Identity, identify
from tallybayes.mail.ledger import HAM, SPAM, Item
from tallybayes.mail.marking import marked
from tallybayes.mail.memory import Memory, Remembered, memory_path
from tallybayes.mail.message import document

from .letters import letter

NOW = int(time.time())


def item(kind: str, number: int, label: int | None = None, days: float | None = None) -> Item:
    raw = letter(kind, number)
    when = None if days is None else NOW - days * 86_400
    return Item(Identity(identify(raw).key, when), document(raw), (kind == "spam") if label is None else label)


def learn(path: Path, *items: Item, **options: bool) -> ledger.Ledger:
    return ledger.change(path, lambda book: book.learn(items, **options))


def counts(model: Model) -> dict[str, list[float]]:
    words, summary = model.schema.columns[0].levels, model.tally.blocks[filter.BLOCK].summary
    assert words is not None
    return {"": model.tally.class_weight.tolist()} | dict(zip(words, summary.arrays()["count"].T.tolist(), strict=True))


def anew(*items: Item) -> dict[str, list[float]]:
    """The counts of a filter that has learned these messages and no others."""
    model = filter.empty()
    for each in items:
        model = filter.learn(model, [each.document], filter.CLASSES[each.label])
    return counts(model)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.tally"


def test_learning_twice_counts_once(path: Path) -> None:
    one, two = item("spam", 1), item("ham", 2)
    assert learn(path, one, two, one).learned == 2
    before = path.read_bytes()
    assert learn(path, two, one).learned == 0
    assert path.read_bytes() == before
    assert counts(database.read(path)) == anew(one, two)


def test_a_message_that_moves_is_corrected_exactly(path: Path) -> None:
    wrong, other = item("ham", 1, label=SPAM), item("spam", 2)
    learn(path, wrong, other)
    # As it lies in the other folder it has more headers, and so more tokens; those that were learned are taken back.
    raw = b"X-New: words of another server\r\n" + marked(letter("ham", 1), "spam 0.99").replace(b"\n", b"\r\n")
    again = Item(identify(raw), document(raw), HAM)
    assert again.document != wrong.document
    book = learn(path, again)
    assert (book.learned, book.moved, book.taken_back) == (1, 1, 0)
    assert counts(database.read(path)) == anew(again, other)


def test_what_was_never_learned_cannot_be_taken_back(path: Path) -> None:
    learn(path, item("spam", 1), item("spam", 2), item("ham", 1))
    before = path.read_bytes(), Path(memory_path(path)).read_bytes()
    twin = Item(Identity(b"another", None), item("spam", 1).document, SPAM)  # the same words, another message
    for wrong, message in (
        (twin, "this message was not learned as spam, so nothing was changed"),
        (item("ham", 1, label=SPAM), "this message was not learned as spam but as ham"),
    ):
        with pytest.raises(UnlearnError, match=message):
            ledger.change(path, lambda book, wrong=wrong: book.unlearn([wrong]))
    with pytest.raises(UnlearnError, match="not learned as spam"):
        ledger.change(path, lambda book: book.move([item("ham", 7)]))
    assert (path.read_bytes(), Path(memory_path(path)).read_bytes()) == before
    ledger.change(path, lambda book: book.unlearn([item("spam", 1)]))
    with pytest.raises(UnlearnError):
        ledger.change(path, lambda book: book.unlearn([item("spam", 1)]))
    assert counts(database.read(path)) == anew(item("spam", 2), item("ham", 1))


def test_moving_leaves_what_is_there_already(path: Path) -> None:
    learn(path, item("spam", 1), item("ham", 1, label=SPAM))
    items = [item("ham", 1), item("spam", 1, label=HAM)]
    assert ledger.change(path, lambda book: book.move(items)).moved == 2
    assert ledger.change(path, lambda book: book.move(items)).moved == 0
    assert counts(database.read(path)) == anew(*items)


def test_old_messages_are_taken_back_exactly_and_stay_so(path: Path) -> None:
    old = [item("spam", n, days=400) for n in range(5)] + [item("ham", n, days=500) for n in range(3)]
    new = [item("spam", n, days=30) for n in range(5, 9)] + [item("ham", 9)]  # one without a date: learned now
    learn(path, *old, *new)
    book = ledger.expire(path, NOW - 365 * 86_400)
    assert book.taken_back == 8
    assert counts(database.read(path)) == anew(*new)
    assert learn(path, *old, again=False).learned == 0  # training over the same folders does not bring them back
    assert learn(path, old[0]).learned == 1  # a person does
    assert counts(database.read(path)) == anew(*new, old[0])


def test_all_messages_can_be_taken_back_and_others_learned(path: Path) -> None:
    learn(path, item("spam", 1))
    ledger.change(path, lambda book: book.unlearn([item("spam", 1)]))
    assert database.read(path).tally.class_weight.tolist() == [0.0, 0.0]
    learn(path, item("ham", 1))
    assert counts(database.read(path)) == anew(item("ham", 1))


def test_the_word_of_a_person_beats_that_of_the_filter(path: Path) -> None:
    learn(path, item("ham", 1), item("ham", 2, label=SPAM), automatic=True)
    assert learn(path, item("ham", 2)).moved == 1  # corrected by hand
    assert learn(path, item("ham", 2, label=SPAM), automatic=True).learned == 0
    learn(path, item("ham", 1))  # confirmed by hand
    with ledger.opened(path) as book:
        assert book.memory is not None
        assert not any(one.automatic for one in book.memory.counted())
    assert counts(database.read(path)) == anew(item("ham", 1), item("ham", 2))


def test_cut_offs_are_fitted_to_what_is_remembered(path: Path) -> None:
    kinds = [(kind, n) for kind in ("spam", "ham") for n in range(120)]
    items = [item(*each) for each in kinds]
    learn(path, *items[:100])
    with ledger.opened(path) as book:
        batch = book.learn(items[100:])
        assert book.fit(0.001, batch) is not None
    with ledger.opened(path.with_name("other.tally"), remember=False) as other:
        other.fit(0.001, other.learn(items))
    mine, theirs = (database.read(each) for each in (path, path.with_name("other.tally")))
    assert filter.scale_of(mine.settings.calibration) == pytest.approx(filter.scale_of(theirs.settings.calibration))
    assert filter.thresholds_of(mine).spam == pytest.approx(filter.thresholds_of(theirs).spam)


def test_messages_that_the_filter_labelled_do_not_fit_its_cut_offs(path: Path) -> None:
    people = [item(kind, n) for kind in ("spam", "ham") for n in range(110)]
    learn(path, *people)
    learn(path, *(item("ham", n) for n in range(200, 240)), automatic=True)
    with ledger.opened(path) as book:
        evaluation = book.fit(0.001)
    assert evaluation is not None
    assert evaluation.n_messages == 220


# ---------------------------------------------------------------------------------------------- without a memory


def test_without_a_memory_it_is_as_it_was(path: Path) -> None:
    one = item("spam", 1)
    for _ in range(2):
        ledger.change(path, lambda book: book.learn([one]), remember=False)
    assert database.read(path).tally.class_weight.tolist() == [0.0, 2.0]
    assert not os.path.exists(memory_path(path))
    # A memory that begins later does not refuse what was learned before it.
    learn(path, item("ham", 1))
    ledger.change(path, lambda book: book.unlearn([one]))
    assert database.read(path).tally.class_weight.tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="has no memory of its messages"):
        ledger.expire(path.with_name("other.tally"), NOW)


def test_a_change_without_memory_keeps_the_one_there_is(path: Path) -> None:
    learn(path, item("spam", 1))
    ledger.change(path, lambda book: book.learn([item("spam", 2)]), remember=False)
    assert learn(path, item("spam", 1), item("spam", 2)).learned == 1  # the second was not remembered


# ---------------------------------------------------------------------------------------------- accidents


def test_a_restored_model_is_not_used_with_a_newer_memory(path: Path) -> None:
    learn(path, item("spam", 1))
    copy = path.read_bytes()
    learn(path, item("spam", 2))
    path.write_bytes(copy)
    with pytest.raises(ModelFileError, match=r"remembers messages of another state .* restore the other too"):
        learn(path, item("spam", 3))
    os.unlink(memory_path(path))
    learn(path, item("spam", 3))


def test_a_damaged_memory_is_an_error_and_nothing_is_changed(path: Path) -> None:
    learn(path, item("spam", 1))
    Path(memory_path(path)).write_bytes(b"no database at all" * 100)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="remove it, or pass --no-memory"):
        learn(path, item("spam", 2))
    assert path.read_bytes() == before


def test_the_memory_is_for_its_owner_alone(path: Path) -> None:
    learn(path, item("spam", 1))
    assert os.stat(memory_path(path)).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("written", [False, True])
def test_a_process_that_dies_between_the_two_files_loses_and_doubles_nothing(path: Path, written: bool) -> None:
    learn(path, item("ham", 1))
    model = database.read(path)
    one = item("spam", 1)
    with Memory.opened(path, ledger.states_of(model)) as memory:
        book = ledger.Ledger(model, memory)
        book.learn([one])
        memory.prepare(book.changes.values(), ledger.states_of(book.model)[-1])
        if written:
            from tallybayes import storage

            storage.write(book.model, path)
        # killed here
    assert learn(path, one).learned == (0 if written else 1)
    assert counts(database.read(path)) == anew(item("ham", 1), one)
    with ledger.opened(path) as after:
        assert after.remembers_all()


LEARN_AND_MOVE = """
import sys
from pathlib import Path
from tests.mail.test_ledger import item, learn
for n in range(1000):
    learn(Path(sys.argv[1]), item("spam", n % 7, label=n % 2))
"""


def test_a_process_that_is_killed_at_any_time_leaves_model_and_memory_together(path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        worker = subprocess.Popen([sys.executable, "-c", LEARN_AND_MOVE, path])
        until = time.monotonic() + 300
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2 + float(rng.random()) * 0.3)
        worker.kill()
        worker.wait()
        with ledger.opened(path) as book:
            assert book.memory is not None
            assert book.remembers_all()
            messages = book.memory.counted()
            rows = ledger.remembered_rows(book.model, messages)
        left = filter.without(book.model, rows)
        assert len(left.schema.columns[0].levels or ()) == 0  # the counts are those of the messages, exactly


def test_changes_are_dropped_or_carried_out_by_the_state_of_the_model(tmp_path: Path) -> None:
    change = Remembered(b"k" * 16, 1, NOW, False, b"12345678")
    for states, kept in ((("a",), 0), (("a", "b", "c"), 1)):
        path = tmp_path / "-".join(states)
        with Memory.opened(path, ("a",)) as memory:
            memory.prepare([], "a")
            memory.finish()
            memory.prepare([change], "b")
        with Memory.opened(path, states) as memory:
            assert len(memory.counted()) == kept
            assert memory.find([change.key]) == ({change.key: change} if kept else {})
