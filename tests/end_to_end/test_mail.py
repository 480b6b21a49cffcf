"""The spam filter as a user, a script and a delivery run it: the real command in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tallybayes.data import datasets
from tallybayes.mail import database
from tallybayes.storage.lock import locked
from tests.end_to_end.test_demo import COMMAND, terminal
from tests.mail.letters import BROKEN, letter
from tests.test_imports import loaded_besides_installation


def mail(*arguments: str | Path, given: bytes = b"", **changes: str) -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, "mail", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, env=terminal(**changes), check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with mail and a filter that has learned it."""
    place = tmp_path_factory.mktemp("mail")
    for kind in ("spam", "ham"):
        (place / kind).mkdir()
        for n in range(60):
            (place / kind / f"{n}.eml").write_bytes(letter(kind, n))
    (place / "spam" / "notes.pdf").write_bytes(b"%PDF-1.4 \x00")
    found = mail("train", "--spam", place / "spam", "--ham", place / "ham", "-o", place / "mail.tally")
    assert found.returncode == 0, found.stderr
    printed = found.stdout.decode()
    assert "tokens of 60 spam and 60 ham; all are new\nheld-out performance" in printed
    assert "recall" in printed
    assert found.stderr.decode() == f"note: {place / 'spam' / 'notes.pdf'} is not a message; skipped\n"
    return place


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    """A copy of the filter that may be changed."""
    shutil.copy(home / "mail.tally.memory", tmp_path / "mail.tally.memory")
    return Path(shutil.copy(home / "mail.tally", tmp_path / "mail.tally"))


NEW_SPAM, NEW_HAM = letter("spam", 500), letter("ham", 500)


@pytest.mark.parametrize(
    ("raw", "verdict", "code"), [(NEW_SPAM, "spam", 0), (NEW_HAM, "ham", 1), (b"To: nobody\n\naardvark\n", "unsure", 2)]
)
def test_a_message_from_a_pipe_is_given_by_word_and_by_exit_code(
    home: Path, raw: bytes, verdict: str, code: int
) -> None:
    found = mail("classify", "--json", given=raw, TALLYBAYES_MAIL=str(home / "mail.tally"))
    assert (found.returncode, found.stderr) == (code, b"")
    record = json.loads(found.stdout)
    assert record["label"] == verdict
    assert 0.0 <= record["probability"] <= 1.0


def test_many_messages_at_once(home: Path, tmp_path: Path) -> None:
    box = tmp_path / "new.mbox"
    envelope = b"From a@example.com Mon Nov 16 03:00:00 2026\n"
    box.write_bytes(b"\n".join(envelope + raw for raw in (NEW_SPAM, NEW_HAM)))
    found = mail("classify", "-d", home / "mail.tally", box)
    first, second = found.stdout.decode().splitlines()
    assert first.startswith(f"{box}#1: spam ")
    assert second.startswith(f"{box}#2: ham ")
    assert found.returncode == 0  # there is spam


@pytest.mark.parametrize("name", ["NUL bytes", "no charset", "empty", "headers without end", "HTML alone"])
def test_the_header_is_all_that_is_added(home: Path, name: str) -> None:
    raw = BROKEN[name].replace(b"\n", b"\r\n")
    found = mail("classify", "-d", home / "mail.tally", "--header", "-e", given=raw)
    assert (found.returncode, found.stderr) == (0, b"")
    line, _, rest = found.stdout.partition(b"\n")
    assert line.startswith(b"X-Tallybayes: ")
    assert rest == raw


def test_the_exit_code_goes_with_the_header_by_default(home: Path) -> None:
    found = mail("classify", "-d", home / "mail.tally", "--header", given=NEW_HAM)
    assert found.returncode == 1
    assert found.stdout.startswith(b"X-Tallybayes: ham 0.0")
    assert found.stdout.endswith(NEW_HAM)


def test_no_mail_is_lost_where_there_is_no_filter(tmp_path: Path) -> None:
    found = mail("classify", "-d", tmp_path / "none.tally", "--header", "-e", given=NEW_HAM)
    assert (found.returncode, found.stdout) == (3, NEW_HAM)
    assert b"there is no database" in found.stderr


def test_learn_unlearn_and_move(own: Path) -> None:
    def learned() -> list[float]:
        return database.read(own).tally.class_weight.tolist()

    before = database.read(own)
    assert mail("learn", "--spam", "-d", own, given=NEW_SPAM).returncode == 0
    assert learned() == [60, 61]
    found = mail("move", "--ham", "-d", own, "--json", given=NEW_SPAM)
    assert json.loads(found.stdout)["learned"] == {"ham": 61.0, "spam": 60.0}
    assert mail("unlearn", "--ham", "-d", own, given=NEW_SPAM).stdout.startswith(b"1 message unlearned as ham; ")
    assert database.read(own) == before
    after = own.read_bytes()
    found = mail("unlearn", "--spam", "-d", own, given=b"Subject: aardvark\n\nnever learned\n")
    assert found.returncode == 3
    assert found.stderr == b"tallybayes: this message was not learned as spam, so nothing was changed\n"
    assert own.read_bytes() == after


def test_a_filter_grows_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "mail.tally"
    found = mail("learn", "--ham", "-d", path, datasets.mailbox("ham"))
    assert found.returncode == 0, found.stderr
    assert found.stdout.decode() == f"12 messages learned as ham; {path} holds 0 spam and 12 ham\n"
    found = mail("unlearn", "--ham", "-d", tmp_path / "none.tally", given=NEW_HAM)
    assert (found.returncode, found.stdout) == (3, b"")


def test_explain_evaluate_and_top(home: Path, tmp_path: Path) -> None:
    (tmp_path / "new.eml").write_bytes(NEW_SPAM)
    found = mail("explain", "-d", home / "mail.tally", tmp_path / "new.eml")
    assert found.returncode == 0
    lines = found.stdout.decode().splitlines()
    assert lines[0].startswith("spam ")
    assert any("█" in line for line in lines)
    case = json.loads(mail("explain", "-d", home / "mail.tally", "--json", tmp_path / "new.eml").stdout)
    assert case["total"] == pytest.approx(sum(clue["log_odds"] for clue in case["clues"]))
    found = mail("evaluate", "-d", home / "mail.tally", "--json", "--spam", home / "spam", "--ham", home / "ham", "-q")
    assert json.loads(found.stdout)["spam"] == {"spam": 60, "unsure": 0, "ham": 0}
    top = json.loads(mail("top", "-d", home / "mail.tally", "-n", "3", "--json").stdout)
    assert [len(top[kind]) for kind in ("ham", "spam")] == [3, 3]


def test_errors_have_the_code_of_filters(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other.tally").write_bytes(b"no model")
    (tmp_path / "empty").mkdir()
    both = ("--spam", home / "spam", "--ham", home / "ham")
    for arguments, message in {
        ("classify", "--no-such-option"): "unrecognized arguments",
        ("learn", "-d", tmp_path / "x"): "one of the arguments --spam --ham is required",
        ("classify", "-d", tmp_path / "other.tally"): "other.tally",
        ("classify", "-d", home / "mail.tally", tmp_path / "nowhere"): "No such file",
        ("classify", "-d", home / "mail.tally", tmp_path / "empty"): "there is no message in",
        ("classify", "-d", home / "mail.tally", "--spam-from", "2"): "thresholds are probabilities",
        ("train", *both, "-o", tmp_path / "other.tally"): "--replace overwrites",
        ("train", *both, "--max-false-positives", "2"): "lies between 0 and 1",
        ("expire", "-d", home / "mail.tally", "--older-than", "soon"): "90d, 8w, 6m or 1y",
    }.items():
        found = mail(*arguments, given=NEW_HAM)
        assert (found.returncode, found.stdout) == (3, b""), arguments
        assert message in found.stderr.decode()
        assert "Traceback" not in found.stderr.decode()


def test_a_locked_database_is_an_error_after_a_while(own: Path) -> None:
    with locked(own):
        found = mail("learn", "--spam", "-d", own, "--wait", "0.1", given=NEW_SPAM)
    assert found.returncode == 3
    assert b"has held" in found.stderr


def test_a_delivery_loads_nothing_that_is_slow(home: Path) -> None:
    code = f"""
import io, sys
from tallybayes.cli import main
sys.stdin = io.TextIOWrapper(io.BytesIO({NEW_SPAM!r}))
sys.stdout = io.StringIO()
assert main(["mail", "classify", "-d", {str(home / "mail.tally")!r}]) == 0
sys.stdout = sys.__stdout__
"""
    slow = ["sklearn", "scipy", "pandas", "polars", "duckdb", "pyarrow", "rich", "narwhals", "multiprocessing.pool"]
    assert loaded_besides_installation(code, slow) == []


@pytest.mark.skipif(
    shutil.which("procmail") is None and os.environ.get("CI") != "true", reason="procmail is not installed"
)
def test_a_procmail_recipe_sorts_mail(home: Path, tmp_path: Path) -> None:
    command = COMMAND[0] if len(COMMAND) == 1 else f"{sys.executable} -m tallybayes.cli"
    (tmp_path / "rc").write_text(
        f"MAILDIR={tmp_path}\nDEFAULT={tmp_path}/inbox\nLOGFILE={tmp_path}/log\n\n:0fw\n"
        f"| {command} mail classify --header -e -d {home / 'mail.tally'}\n\n:0:\n* ^X-Tallybayes: spam\njunk\n"
    )
    for raw in (NEW_SPAM, NEW_HAM):
        subprocess.run(["procmail", "-m", str(tmp_path / "rc")], input=raw, check=True)
    assert b"X-Tallybayes: spam" in (tmp_path / "junk").read_bytes()
    inbox = (tmp_path / "inbox").read_bytes()
    assert inbox.count(b"X-Tallybayes: ham") == 1
    assert b"X-Tallybayes: spam" not in inbox
