"""Writes the small awkward files of this folder, one oddity each: ``python -m tests.tables.make_tables``.

Every file has 30 rows and a column ``y`` of labels. What tallybayes reads is in the JSON file of the same name, which
the script writes with ``--expected``: look at the difference before you commit it.
"""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "how-to" / "awkward-tables.md"
ROWS = range(30)
LABELS = [("no", "yes")[(i * 7 + i // 3) % 2] for i in ROWS]
AMOUNTS = [round(3.5 + (i * 37 % 101) * 41.27, 2) for i in ROWS]
DAYS = [
    datetime.datetime(2023, 1, 3) + datetime.timedelta(days=i * 23, hours=i * 7 % 24, minutes=i * 11 % 60) for i in ROWS
]


def european(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def every(step: int, word: str, texts: list[str]) -> list[str]:
    """The texts with a word in place of some."""
    return [word if i % step == 2 else text for i, text in enumerate(texts)]


PLAIN = [f"{a}" for a in AMOUNTS]
WHOLE = [f"{round(a)}" for a in AMOUNTS]
TAGS = ("drama", "crime", "comedy", "war")
COLUMNS: dict[str, list[str]] = {
    "decimal-comma": [f"{a:.2f}".replace(".", ",") for a in AMOUNTS],
    "thousands-comma": [f"{a:,.2f}" for a in AMOUNTS],
    "thousands-point": [european(a) for a in AMOUNTS],
    "thousands-space": [f"{a:,.2f}".replace(",", " ").replace(".", ",") for a in AMOUNTS],
    "thousands-no-break-space": [f"{a:,.2f}".replace(",", "\u202f").replace(".", ",") for a in AMOUNTS],
    "thousands-apostrophe": [f"{a:,.2f}".replace(",", "'") for a in AMOUNTS],
    "thousands-without-decimals": [f"{round(a) + 1000:,}" for a in AMOUNTS],
    "dollars": [f"${a:,.2f}" for a in AMOUNTS],
    "euros": [f"{european(a)} €" for a in AMOUNTS],
    "currency-code": [f"CHF {a:.2f}" for a in AMOUNTS],
    "percent": [f"{a / 100:.1f}%" for a in AMOUNTS],
    "unit": [f"{round(a)} km" for a in AMOUNTS],
    "two-units": [f"{round(a)} {('km', 'm')[i % 2]}" for i, a in enumerate(AMOUNTS)],
    "exponents": [f"{a:.3e}" for a in AMOUNTS],
    "minus-sign": [f"{a - 2000:.2f}".replace("-", "−") for a in AMOUNTS],
    "parentheses": [f"${a - 2000:,.2f}" if a > 2000 else f"(${2000 - a:,.2f})" for a in AMOUNTS],
    "out-of-ten": [f"{a / 500:.1f}/10" for a in AMOUNTS],
    "not-available": every(6, "n/a", PLAIN),
    "question-mark": every(6, "?", WHOLE),
    "dash": every(6, "-", WHOLE),
    "several-codes": every(7, "unknown", every(6, "N/A", PLAIN)),
    "own-code": every(6, "refused", PLAIN),
    "mostly-missing": [f"{round(a)} kg" if i % 3 == 0 else "?" for i, a in enumerate(AMOUNTS)],
    "nines": every(6, "9999", WHOLE),
    "leading-zeros-and-letters": [f"0{i:03}A" for i in ROWS],
    "phone-numbers": [f"+49 30 {i % 9}{i % 7}{i % 5}-{i * 37 % 1000:03}" for i in ROWS],
    "telephones": [f"06 {i % 90 + 10} {i * 37 % 90 + 10} {i * 53 % 90 + 10} {i * 7 % 90 + 10}" for i in ROWS],
    "ranges": [("10-20", "20-30", "30+")[i % 3] for i in ROWS],
    "versions": [f"1.{i % 3}.{i % 2}" for i in ROWS],
    "iso-dates": [d.strftime("%Y-%m-%d") for d in DAYS],
    "iso-times-with-zone": [d.strftime("%Y-%m-%dT%H:%M:%S+02:00") for d in DAYS],
    "european-dates": [d.strftime("%d.%m.%Y") for d in DAYS],
    "day-first": [d.strftime("%d/%m/%Y %H:%M") for d in DAYS],
    "month-first": [d.strftime("%m/%d/%Y") for d in DAYS],
    "twelve-hours": [d.strftime("%m/%d/%Y %I:%M %p") for d in DAYS],
    "two-digit-years": [d.strftime("%d/%m/%y") for d in DAYS],
    "names-of-months": [d.strftime("%d-%b-%y") for d in DAYS],
    "long-names-of-months": [d.strftime("%B %d, %Y %I:%M %p") for d in DAYS],
    "ambiguous-dates": [f"{1 + i % 12:02}/{1 + i % 7:02}/2023" for i in ROWS],
    "ambiguous-dates-given": [f"{1 + i % 12:02}/{1 + i % 7:02}/2023" for i in ROWS],
    "dates-with-gaps": every(6, "", [d.strftime("%Y-%m-%d") for d in DAYS]),
    "clock": [d.strftime("%H:%M") for d in DAYS],
    "epoch": [f"{int(d.replace(tzinfo=datetime.UTC).timestamp())}" for d in DAYS],
    "epoch-given": [f"{int(d.replace(tzinfo=datetime.UTC).timestamp())}" for d in DAYS],
    "huge-integers": [f"{10**20 + i * 10**17}" for i in ROWS],
    "identifier": [f"T-{i:05}" for i in ROWS],
    "ordered-given": [("low", "medium", "high")[i * 7 % 3] for i in ROWS],
    "tags": ["|".join(tag for j, tag in enumerate(TAGS) if (1 + i * 7 % 15) >> j & 1) for i in ROWS],
    "windows-1252": [("Zürich", "Orléans", "Århus")[i % 3] for i in ROWS],
    "utf-16": [("Zürich", "Orléans", "Århus")[i % 3] for i in ROWS],
    "byte-order-mark": [("Zürich", "Orléans", "Århus")[i % 3] for i in ROWS],
}
ENCODINGS = {"windows-1252": "cp1252", "utf-16": "utf-16", "byte-order-mark": "utf-8-sig"}
OPTIONS: dict[str, dict[str, Any]] = {
    "nines": {"missing_values": ["9999"]},
    "ambiguous-dates-given": {"dates": "mdy"},
    "epoch-given": {"kind": {"x": "epoch"}},
    "ordered-given": {"kind": {"x": ["low", "medium", "high"]}},
}


def written(name: str) -> bytes:
    """The content of a file; a semicolon separates fields that may hold commas."""
    lines = ["x;y", *(f"{x};{y}" for x, y in zip(COLUMNS[name], LABELS, strict=True))]
    return ("\n".join(lines) + "\n").encode(ENCODINGS.get(name, "utf-8"))


def main() -> None:
    """Write the files and, if asked for, what is read from them."""
    for name in COLUMNS:
        (FOLDER / f"{name}.csv").write_bytes(written(name))
    if "--expected" in sys.argv:
        import json

        from tests.tables.test_tables import read

        lines = [HEAD]
        for name in COLUMNS:
            found = {"options": OPTIONS.get(name, {}), **read(FOLDER / f"{name}.csv", OPTIONS.get(name, {}))}
            (FOLDER / f"{name}.json").write_text(
                json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            lines.append(line(name, found))
        PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


HEAD = """# Awkward tables

Numbers and dates as people write them, and what is read from them without any preparation. The files are in
`tests/tables/`, 30 rows each; the expected schema is beside each, and the tests read every file, the same cells in a
frame and in Parquet. `python -m tests.tables.make_tables --expected` writes this page.

| file | first values | read as | why |
| --- | --- | --- | --- |"""


def line(name: str, found: dict[str, Any]) -> str:
    """The row of the page."""
    values = ", ".join(f"`{text}`" if text else "(empty)" for text in COLUMNS[name][:3]).replace("|", "\\|")
    options = f" with `{OPTIONS[name]}`" if name in OPTIONS else ""
    if "error" in found:
        return f"| `{name}`{options} | {values} | an error | {found['error']} |"
    first, *parts = found["columns"]
    kind = f"{first['kind']}, with {len(parts)} part{'s' if len(parts) > 1 else ''}" if parts else first["kind"]
    why = first["why"].replace("|", "\\|")
    return f"| `{name}`{options} | {values} | {kind} | {why} |"


if __name__ == "__main__":
    main()
