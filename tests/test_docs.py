"""What the documentation names exists: files, modules and names of the package."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import tallybayes

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.rst"), ROOT / "CONTRIBUTING.md"])
DECISIONS = ROOT / "docs" / "decisions"
PACKAGES = "core|families|data|learning|inspection|storage|export|plots|report|estimators|mail|serve|cli"
TREES = rf"(?:src|tests|native|scripts|docs|{PACKAGES})/"
FILES = re.compile(rf"`({TREES}[\w./-]*?)`|\]\(([^)#\s:]+?)(?:#[^)]*)?\)")  # in code, or the target of a link
NAMES = re.compile(r"(?<![\w./-])tallybayes((?:\.[A-Za-z_]\w*)+)(?![\w/])")

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not installed")


def ident(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def exists(page: Path, name: str) -> bool:
    """Whether a path is one from the root, from the package or from the page."""
    return any((place / name).exists() for place in (ROOT, ROOT / "src" / "tallybayes", page.parent))


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts, found = dotted.split("."), tallybayes
    for i, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            module = ".".join(("tallybayes", *parts[: i + 1]))
            if not hasattr(found, "__path__") or find_spec(module) is None:
                return False
            found = import_module(module)
    return True


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_paths_exist(page: Path) -> None:
    found = {a or b for a, b in FILES.findall(page.read_text(encoding="utf-8"))}
    assert [name for name in sorted(found) if not exists(page, name)] == []


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = {name[1:] for name in NAMES.findall(text)}
    assert [name for name in sorted(found) if not resolves(name)] == []


def test_public_names_are_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    missing = [name for name in tallybayes.__all__ if f"tallybayes.{name}" not in text and name != "__version__"]
    assert missing == []


def test_laws_are_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    laws = {path.name for path in (ROOT / "tests" / "laws").glob("test_*.py")}
    assert laws - set(re.findall(r"`(test_\w+\.py)`", text)) == set()


def test_decisions_are_numbered_one_by_one_and_in_their_index() -> None:
    index = (DECISIONS / "index.md").read_text(encoding="utf-8")
    numbers = sorted(int(page.name[:4]) for page in DECISIONS.glob("0*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
    assert [page.name for page in sorted(DECISIONS.glob("0*.md")) if f"({page.name})" not in index] == []
