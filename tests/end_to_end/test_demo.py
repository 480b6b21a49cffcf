"""The command line as a user runs it: the real command, where it matters in a process of its own."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

import tallybayes
from tallybayes.cli import main

INSTALLED = Path(sys.executable).with_name("tallybayes")
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "tallybayes.cli"]


ASKED = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "PYTHONUNBUFFERED")


def terminal(**changes: str) -> dict[str, str]:
    """The usual 80 columns, no colours asked for, output as Python buffers it by default."""
    keep = {name: value for name, value in os.environ.items() if name not in ASKED}
    return {**keep, "TERM": "xterm", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **changes}


def process(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which takes a moment to begin."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, encoding="utf-8", env=terminal(**changes), check=False
    )


def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """The command as it ends: its exit code, and what it printed.

    It runs in this process, as `process` would run it, unless it is given a stream of the process itself.
    """
    if any(word == "-" or word.startswith("/dev/") for word in arguments):
        return process(*arguments, **changes)
    printed = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with (
        mock.patch.dict(os.environ, terminal(**changes), clear=True),
        redirect_stdout(printed[0]),
        redirect_stderr(printed[1]),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)  # as outside tests
        try:
            code = main(list(arguments))
        except SystemExit as usage:
            code = int(usage.code or 0)
    for stream in printed:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in printed)  # type: ignore[attr-defined]
    return subprocess.CompletedProcess([*COMMAND, *arguments], code, out, err)


def test_the_version_is_the_packages() -> None:
    found = process("--version")
    assert (found.stdout, found.stderr, found.returncode) == (f"tallybayes {tallybayes.__version__}\n", "", 0)


def test_help_names_the_command_and_shows_an_example() -> None:
    found = run("--help")
    assert found.returncode == 0
    assert "demo" in found.stdout
    assert "example: tallybayes demo --alpha 1" in found.stdout


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_demo_shows_the_tables_and_one_day_worked_out() -> None:
    found = process("demo")
    assert (found.returncode, found.stderr) == (0, "")
    lines = words(found.stdout)
    assert ["P(play=yes)", "=", "9/14", "=", "0.643"] in lines
    assert ["sunny", "3/5", "2/9"] in lines
    assert ["outlook", "overcast", "0/5", "4/9"] in lines
    assert ["wind", "strong", "3/5", "3/9"] in lines  # not reduced
    assert ["=", "P(day,", "play)", "0.02057", "0.00529"] in lines
    assert ["÷", "P(day)", "=", "0.02586", "0.795", "0.205"] in lines
    assert lines[-1] == ["so", "play=no", "with", "probability", "0.795."]


def test_laplace_adds_one_to_every_count() -> None:
    lines = words(run("demo", "--alpha", "1").stdout)
    assert ["outlook", "overcast", "1/8", "5/12"] in lines
    assert ["P(play=yes)", "=", "9/14", "=", "0.643"] in lines  # the prior is not smoothed
    assert lines[-1] == ["so", "play=no", "with", "probability", "0.720."]


def test_the_day_can_be_given() -> None:
    found = run("demo", "outlook=overcast", " wind = weak ")
    assert "One prediction worked out: outlook=overcast, wind=weak" in found.stdout
    assert "play=yes with probability 1.000" in found.stdout
    assert "A zero count excludes a class; --alpha 1 (Laplace smoothing) avoids it." in found.stdout


def test_json_has_the_same_figures_and_nothing_else() -> None:
    found = run("demo", "--json")
    plain = json.loads(found.stdout)
    assert (found.returncode, found.stderr) == (0, "")
    assert plain["prior"] == {"no": "5/14", "yes": "9/14"}
    assert plain["factors"][0] == {"column": "outlook", "value": "sunny", "chance": {"no": "3/5", "yes": "2/9"}}
    assert plain["posterior"]["no"] == pytest.approx(0.7954, abs=5e-5)
    assert sum(plain["joint"].values()) == pytest.approx(plain["evidence"])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["rain=yes"], "there is no column 'rain'; the model has outlook, temperature, humidity, wind"),
        (["wind=gale"], "column 'wind' has no level 'gale'; it has strong, weak"),
        (["wind="], "column 'wind' has no level ''; it has strong, weak"),
        (["wind"], "expected COLUMN=VALUE, got 'wind'; for example outlook=sunny"),
        (["--alpha", "-1"], "--alpha must be"),
        (["--alpha", "nan"], "--alpha must be"),
        (["--alpha", "inf"], "--alpha must be"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_what_the_user_got_wrong_is_one_line_and_exit_1(arguments: list[str], why: str, form: list[str]) -> None:
    found = run("demo", *form, *arguments)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"tallybayes: {why}")
    assert found.stderr.count("\n") == 1


def test_debug_shows_where_it_went_wrong() -> None:
    found = process("--debug", "demo", "wind=gale")
    assert found.returncode == 1
    assert "Traceback" in found.stderr
    assert "DataError" in found.stderr


@pytest.mark.parametrize("arguments", [[], ["dance"], ["demo", "--alpha", "much"], ["demo", "--beta", "1"]], ids=str)
def test_a_command_that_does_not_exist_is_exit_2(arguments: list[str]) -> None:
    found = run(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert "usage: tallybayes" in found.stderr
    assert "Traceback" not in found.stderr


def test_what_goes_to_a_file_has_no_colours() -> None:
    assert "\x1b" not in run("demo").stdout
    assert "\x1b" in run("demo", FORCE_COLOR="1").stdout  # shows that the test would see them


COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|38|4[0-7]|48|9[0-7])[0-9;]*m")


def test_no_color_is_respected() -> None:
    assert not COLOUR.search(run("demo", FORCE_COLOR="1", NO_COLOR="1").stdout)


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_the_demo_fits_its_terminal(columns: int) -> None:
    """However narrow, no line is longer and no fraction is cut."""
    found = run("demo", COLUMNS=str(columns))
    assert max(map(len, found.stdout.splitlines())) <= columns
    fractions = re.findall(r"\d+/\d+", run("demo").stdout)
    assert len(fractions) == 2 + 20 + 10
    assert re.findall(r"\d+/\d+", found.stdout) == fractions
    assert "0.795" in found.stdout


def test_sixty_columns_are_enough_for_every_word() -> None:
    assert "…" not in run("demo", COLUMNS="60").stdout


@pytest.mark.parametrize("arguments", [["demo"], ["demo", "--json"]], ids=" ".join)
@pytest.mark.parametrize("changes", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_reader_who_has_seen_enough_is_no_error(arguments: list[str], changes: dict[str, str]) -> None:
    """As in `tallybayes demo | head -1`, but sure to have closed the pipe before a line is written."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        found = subprocess.run(
            [*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, env=terminal(**changes), check=False
        )
    finally:
        os.close(writing)
    assert (found.returncode, found.stderr) == (0, b"")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell with head")
def test_the_first_line_can_be_read_alone() -> None:
    command = " ".join(["set -o pipefail;", *COMMAND, "demo | head -1"])
    found = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8", env=terminal(), check=False)
    assert found.stdout == "Will they play tennis? Learned from 14 days in one pass.\n"
    assert found.stderr == ""


def test_the_module_is_the_command_too() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tallybayes.cli", "--version"], capture_output=True, text=True, check=False
    )
    assert found.stdout == f"tallybayes {tallybayes.__version__}\n"


def test_the_demo_draws_how_the_evidence_adds_up() -> None:
    found = run("demo", "--plot")
    drawn = found.stdout.split("log odds of no against yes\n")[1].splitlines()
    assert [line.split()[:3] for line in drawn[1:3]] == [["outlook", "=", "sunny"], ["humidity", "=", "high"]]
    at = {line.split()[0]: (line.find("█"), len(line)) for line in drawn[1:4]}
    assert abs(at["outlook"][1] - at["humidity"][0]) <= 1  # a bar begins where the last one ended
    assert abs(at["humidity"][1] - at["wind"][0]) <= 1
    assert "░" in drawn[0]  # the prior speaks against
    assert max(map(len, drawn)) <= 80
    assert drawn[-2].split()[:2] == ["no", "0.7954"]
    vetoed = run("demo", "--plot", "outlook=overcast")
    assert "+∞" in vetoed.stdout
