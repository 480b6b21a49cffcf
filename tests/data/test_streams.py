"""Devices and pipes are written to and never replaced; regular files are replaced as a whole."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import tallybayes
from tallybayes import storage
from tallybayes.cli import main
from tallybayes.data.datasets import tennis
from tallybayes.data.streams import is_stream, passing_on
from tests.end_to_end.test_demo import COMMAND

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes have names on POSIX systems only")
WRITERS = {
    "train": ["train", "DATA", "--target", "play", "--no-evaluation", "-q"],
    "predict": ["predict", "MODEL", "DATA", "-q"],
    "predict as JSON": ["predict", "MODEL", "DATA", "-q", "--format", "json"],
    "predict as Parquet": ["predict", "MODEL", "DATA", "-q", "--format", "parquet"],
    "sample": ["sample", "MODEL", "-n", "5", "--seed", "1", "-q"],
    "update": ["update", "MODEL", "DATA", "-q"],
    "unlearn": ["unlearn", "MODEL", "HALF", "-q"],
    "merge": ["merge", "MODEL", "MODEL", "-q"],
    "blank": ["blank", "MODEL", "-q"],
    "sql": ["sql", "MODEL", "-q"],
    "export": ["export", "MODEL", "-q"],
    "export as ONNX": ["export", "MODEL", "--to", "onnx", "-q"],
    "report": ["report", "MODEL", "-q"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    directory = tmp_path_factory.mktemp("streams")
    table: Any = tennis()
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    (directory / "data.csv").write_text("\n".join(lines) + "\n")
    (directory / "half.csv").write_text("\n".join(lines[:7]) + "\n")
    tallybayes.NaiveBayes(classical=True).fit(table, target="play").save(directory / "m.tally")
    names = {"DATA": "data.csv", "HALF": "half.csv", "MODEL": "m.tally"}
    return {name: str(directory / file) for name, file in names.items()}


def command(name: str, files: dict[str, str], out: Any) -> list[str]:
    return [*(files.get(word, word) for word in WRITERS[name]), "-o", str(out)]


def read_pipe(path: Path) -> tuple[threading.Thread, list[bytes]]:
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    thread.start()
    return thread, found


@pytest.mark.parametrize("name", WRITERS)
def test_a_named_pipe_gets_what_a_file_would(name: str, files: dict[str, str], tmp_path: Path) -> None:
    if "ONNX" in name:
        pytest.importorskip("onnx")
    pipe, suffix = tmp_path / "pipe", {"predict": ".csv", "sample": ".csv"}.get(name.split()[0], "")
    os.mkfifo(pipe)
    thread, found = read_pipe(pipe)
    assert main(command(name, files, pipe)) == 0
    thread.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pipe"]
    assert main(command(name, files, tmp_path / f"file{suffix}")) == 0
    if name in ("update", "unlearn", "merge"):  # a change has a name of its own
        (tmp_path / "again").write_bytes(found[0])
        assert storage.read(tmp_path / "again") == storage.read(tmp_path / "file")
    elif name == "predict as Parquet":
        assert found[0][:4] == found[0][-4:] == b"PAR1"
    else:
        assert found[0] == (tmp_path / f"file{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["train", "predict", "export", "report"])
def test_a_device_stays_one(name: str, files: dict[str, str]) -> None:
    before = os.stat(os.devnull)
    assert main(command(name, files, os.devnull)) == 0
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("name", ["train", "predict", "predict as Parquet", "export"])
def test_a_full_device_is_an_error(name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(name, files, "/dev/full")) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_the_shell(files: dict[str, str], tmp_path: Path) -> None:
    predict = " ".join([*COMMAND, "predict", files["MODEL"], files["DATA"], "-q"])
    export = " ".join([*COMMAND, "export", files["MODEL"], "-q"])
    script = f"""
set -e
{predict} -o plain.csv
{predict} -o >(cat > substituting.csv; mv substituting.csv substituted.csv)
echo before > appended.csv; {predict} -o /dev/stdout >> appended.csv
{export} -o /dev/stdout | cat > piped.json
{predict.replace(files["DATA"], "<(cat " + files["DATA"] + ")")} -o read.csv
until [ -e substituted.csv ]; do sleep 0.1; done
"""
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, timeout=300)
    plain = (tmp_path / "plain.csv").read_text()
    assert (tmp_path / "substituted.csv").read_text() == plain
    assert (tmp_path / "appended.csv").read_text() == "before\n" + plain
    assert (tmp_path / "read.csv").read_text() == plain
    assert (tmp_path / "piped.json").read_text() == tallybayes.load(files["MODEL"]).to_json(indent=1) + "\n"


def test_results_are_not_mixed_with_a_model_on_the_standard_output(
    files: dict[str, str], capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    for name in ("train", "update", "merge", "report"):
        assert main(command(name, files, "-")) == 0
        shown = capsysbinary.readouterr()
        if name == "report":
            assert shown.out.startswith(b"<!doctype html>")
            continue
        (tmp_path / "m").write_bytes(shown.out)
        assert storage.read(tmp_path / "m").n_classes == 2
        assert b"Tally(" in shown.err or b"importance" in shown.err


def test_an_error_at_the_end_of_the_pipe_is_raised_here(tmp_path: Path) -> None:
    assert is_stream("/dev/fd/7")
    assert not is_stream(tmp_path)
    with pytest.raises(OSError, match="Bad file descriptor"), passing_on("/dev/fd/987"):
        pass
