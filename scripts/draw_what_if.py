"""Draw the what-if of a report as docs/images/what-if.png; needs playwright and Chromium."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tallybayes import NaiveBayes
from tallybayes.data import datasets

if __name__ == "__main__":
    table = datasets.penguins()
    species = table.pop("species")
    path = Path(tempfile.mkdtemp()) / "report.html"
    NaiveBayes(classical=True).fit(table, species).report(path, table, species, title="Penguins", target="species")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1080, "height": 900}, device_scale_factor=1.5)
        page.goto(f"{path.as_uri()}#island=Dream&bill_length_mm=43.2&flipper_length_mm=197&sex=male")
        box = page.locator("#what-if").bounding_box()
        assert box is not None
        clip = {"x": box["x"] - 24, "y": box["y"] + 8, "width": box["width"] + 48, "height": box["height"] + 16}
        page.screenshot(path="docs/images/what-if.png", full_page=True, clip=clip)
        browser.close()
