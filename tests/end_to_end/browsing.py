"""A real browser for the tests of pages; they are skipped where there is none, and fail where CI=true."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE = {"width": 390, "height": 844}

if os.environ.get("CI") != "true":
    if CHROMIUM is None:
        pytest.skip("the browser tests need Chromium, which is not installed", allow_module_level=True)
    for _name in ("playwright", "axe_playwright_python"):
        pytest.importorskip(_name, reason="the browser tests need playwright")


class Page:
    """A page that remembers what went wrong and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page, self.wrong, self.asked = browser.new_page(**options), [], []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)


def serious(page: Page) -> list[tuple[str, str]]:
    """What axe-core finds serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page.page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]
