"""The service as a process, and its page in a real browser."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes
from tallybayes.data import datasets
from tests.end_to_end.browsing import PHONE, Page, serious

if os.environ.get("CI") != "true":
    for _name in ("fastapi", "orjson", "uvicorn"):
        pytest.importorskip(_name, reason="the service needs the extra 'serve'")


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    return NaiveBayes().fit(datasets.penguins(), target="species")


@pytest.fixture(scope="module")
def port(fitted: NaiveBayes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    path = tmp_path_factory.mktemp("serve") / "penguins.tally"
    fitted.save(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "tallybayes.cli", "serve", str(path), "--port", str(number)])
    try:
        for _ in range(3000):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", number, timeout=60)
                connection.request("GET", "/health")
                assert connection.getresponse().status == 200
                connection.close()
                break
            except OSError:
                time.sleep(0.1)
        yield number
    finally:
        server.terminate()
        server.wait(timeout=300)


@pytest.mark.parametrize("viewport", [None, PHONE])
def test_the_page(browser: Any, port: int, fitted: NaiveBayes, viewport: Any) -> None:
    page = Page(browser, f"http://127.0.0.1:{port}/#island=Biscoe", **({"viewport": viewport} if viewport else {}))
    row = {**dict.fromkeys(fitted.feature_names_in_), "island": "Biscoe"}
    np.testing.assert_allclose(page.evaluate("whatIf.answer()"), fitted.predict_proba([row])[0], atol=1e-9)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.wrong == []


def test_a_file_is_dropped_and_comes_back_scored(
    browser: Any,
    port: int,
    fitted: NaiveBayes,
    tmp_path: Path,
) -> None:
    table = pd.DataFrame(datasets.penguins()).drop(columns="species")
    table.to_csv(tmp_path / "rows.csv", index=False)
    page = Page(browser, f"http://127.0.0.1:{port}/")
    page.locator("#drop-file").set_input_files(tmp_path / "rows.csv")
    page.locator("#drop-status a").wait_for()
    assert "344 rows scored" in page.locator("#drop-status").inner_text()
    with page.expect_download() as download:
        page.locator("#drop-status a").click()
    download.value.save_as(tmp_path / "scored.csv")
    scored = pd.read_csv(tmp_path / "scored.csv")
    np.testing.assert_allclose(scored["p_Gentoo"], fitted.predict_proba(table)[:, 2], atol=1e-9)
    assert page.locator("#drop-found tbody tr").count() == 5
    assert "bill_length_mm = " in page.locator("#drop-found tbody").inner_text()
    table.assign(species=datasets.penguins()["species"]).to_csv(tmp_path / "labelled.csv", index=False)
    page.locator("#drop-file").set_input_files(tmp_path / "labelled.csv")
    page.get_by_text("of 344 predictions are right").wait_for()  # the file has the labels
    (tmp_path / "wrong.csv").write_text("emu\n1\n")
    page.locator("#drop-file").set_input_files(tmp_path / "wrong.csv")
    page.locator("#drop-status.error").wait_for()
    assert "none of the columns" in page.locator("#drop-status").inner_text()
    assert [text for text in page.wrong if "422" not in text] == []  # the browser itself notes the refusal


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "no.tally").write_text("nothing")
    (tmp_path / "token").write_text("short")
    command = [sys.executable, "-m", "tallybayes.cli", "serve", str(tmp_path / "no.tally")]
    for more, message in (
        ([], "cannot be read as a model"),
        (["--host", "0.0.0.0"], "set a token"),
        (["--learn"], "needs a token"),
        (["--token-file", str(tmp_path / "token")], "too short"),
    ):
        run = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300)
        assert run.returncode == 1
        assert message in run.stderr


def test_a_port_that_is_taken_is_given_before_anything_is_announced(
    port: int, fitted: NaiveBayes, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "penguins.tally")
    command = [sys.executable, "-m", "tallybayes.cli", "serve", str(tmp_path / "penguins.tally"), "--port", str(port)]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"tallybayes: cannot listen on 127.0.0.1, port {port}: ")
    assert found.stderr.count("\n") == 1
