"""Processes that change one model file at the same time lose nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.end_to_end.concurrency import race


def test_eight_command_lines(tmp_path: Path) -> None:
    outcome = race(tmp_path, 10, 8)
    assert outcome.acknowledged["c0"] == 6  # 8 rows learned, 2 of them taken back
    assert outcome.found == outcome.acknowledged
    assert not [file.name for file in tmp_path.iterdir() if file.name.endswith(".lock") or file.name.startswith(".")]


def test_a_service_and_command_lines(tmp_path: Path) -> None:
    if os.environ.get("CI") != "true":
        for name in ("fastapi", "orjson", "uvicorn"):
            pytest.importorskip(name, reason="the service needs the extra 'serve'")
    outcome = race(tmp_path, 10, 3, 3)
    assert outcome.found == outcome.acknowledged
