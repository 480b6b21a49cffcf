"""Write native/unicode_tables.hpp, what the tokeniser knows of characters, from Python's own knowledge of them.

``python scripts/make_unicode_tables.py > native/unicode_tables.hpp``
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from itertools import groupby

WORD, MARK, SINGLE, DROPPED, CASED, IGNORABLE, LOWERS, FOLDS = (1 << bit for bit in range(8))

IDEOGRAPHS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")
INVISIBLE = {0x00AD, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400)}


def flags(code: int) -> int:
    """What a character is, as bits."""
    c = chr(code)
    category = unicodedata.category(c)
    if category == "Cs":
        return 0
    cased = (c + "Σ").lower().endswith("ς")
    return (
        WORD * (c.isalnum() or c == "_")
        | MARK * category.startswith("M")
        | SINGLE * (category in ("So", "Sc") or unicodedata.name(c, "").startswith(IDEOGRAPHS))
        | DROPPED * (code in INVISIBLE)
        | CASED * cased
        # Whether the end of a word is looked for beyond this character, as Python does for the final sigma.
        | IGNORABLE * (not cased and ("A" + c + "Σ").lower().endswith("ς"))
        | LOWERS * (c.lower() != c)
        | FOLDS * (c.casefold() != c.lower())
    )


def listed(name: str, kind: str, values: Iterable[str]) -> str:
    """A C array, filled to the width of a line."""
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) + 2 > 120:
            lines.append(line)
            line = "   "
        line += f" {value},"
    return f"inline constexpr {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def mapped(name: str, changed: Iterable[tuple[int, str]]) -> str:
    """Characters and what becomes of them."""
    rows = ((code, *(ord(c) for c in to), 0, 0)[:4] for code, to in changed)
    return listed(name, "Mapping", ("{" + ",".join(map(str, row)) + "}" for row in rows))


def main() -> None:
    """Print the header."""
    everything = range(sys.maxunicode + 1)
    runs = [(next(codes), bits) for bits, codes in groupby(everything, flags)]
    lower = [(code, chr(code).lower()) for code in everything if flags(code) & LOWERS]
    fold = [(code, chr(code).casefold()) for code in everything if flags(code) & FOLDS]
    print(
        f"// Characters of Unicode {unicodedata.unidata_version}, by scripts/make_unicode_tables.py: do not edit.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace tb {\n\n"
        "enum Character : std::uint8_t {\n"
        f"    kWord = {WORD}, kMark = {MARK}, kSingle = {SINGLE}, kDropped = {DROPPED},\n"
        f"    kCased = {CASED}, kIgnorable = {IGNORABLE}, kLowers = {LOWERS}, kFolds = {FOLDS}\n"
        "};\n\n"
        "struct Run { std::uint32_t first, flags; };            // all characters from here to the next run\n"
        "struct Mapping { std::uint32_t from, to[3]; };         // a character and what becomes of it; 0 ends it\n"
    )
    print(listed("kRuns", "Run", (f"{{{first},{bits}}}" for first, bits in runs)))
    print(mapped("kLower", lower))
    print("// Where case folding differs from lower case.\n" + mapped("kFold", fold))
    print("}  // namespace tb")


if __name__ == "__main__":
    main()
