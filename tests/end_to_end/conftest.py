"""What end-to-end tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, opened once for each file of tests."""
    from playwright.sync_api import sync_playwright

    from tests.end_to_end.browsing import ARGUMENTS, CHROMIUM

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()
