"""The style and the scripts of a page, and what it may load."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

SCRIPTS = ("scorer.js", "page.js", "decisions.js", "whatif.js", "file.js")


def policy(service: bool = False) -> str:
    """What the page may load: its own style and script, by their hashes, and nothing else."""
    connect = "connect-src 'self'; " if service else ""
    return (
        f"default-src 'none'; script-src '{_hash(script())}'; style-src '{_hash(asset('page.css'))}'; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return (files("tallybayes") / "report" / name).read_text(encoding="utf-8").strip()


@cache
def script() -> str:
    """The script of the page."""
    return "\n".join(asset(name) for name in SCRIPTS)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
