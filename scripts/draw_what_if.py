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
    NaiveBayes().fit(table, species).report(path, table, species, title="Penguins", target="species")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1080, "height": 900}, device_scale_factor=1.5)
        page.goto(f"{path.as_uri()}#island=Dream&bill_length_mm=43.2&sex=male")  # the row of docs/index.md
        page.locator(".whatif").screenshot(path="docs/images/what-if.png")
        browser.close()
