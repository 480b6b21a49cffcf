"""A client while the service is attacked. How soon it is answered is for ``scripts/attack-service``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.environ.get("CI") != "true":
    for _name in ("fastapi", "orjson", "uvicorn"):
        pytest.importorskip(_name, reason="the service needs the extra 'serve'")

from .attacks import attacked, attacks, memory, service

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int, str, float]]:
    with service(str(tmp_path_factory.mktemp("attacked"))) as (port, pid, path):
        yield port, pid, path, memory(pid)


@pytest.mark.parametrize(
    "name", ["a column for each row", "many keys", "lines that end in CR", "half-sent heads", "half-sent bodies"]
)
def test_others_are_answered(name: str, place: tuple[int, int, str, float]) -> None:
    port, pid, path, idle = place
    found = attacked(port, pid, 1.0, attacks(port, path)[name])
    assert found.failed == 0
    assert found.memory < 3 * idle


def test_what_is_left_of_a_model_file_is_not_served(place: tuple[int, int, str, float]) -> None:
    port, pid, path, _ = place
    whole = Path(path).read_bytes()
    assert attacked(port, pid, 1.0, attacks(port, path)["bad model files"]).failed == 0
    Path(path).write_bytes(whole)
