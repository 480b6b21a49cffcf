"""Write native/unicode_tables.hpp, what the tokeniser knows of characters, from Python's own knowledge of them.

``python scripts/make_unicode_tables.py > native/unicode_tables.hpp``
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from itertools import groupby

from tallybayes.core.spelling import HIDDEN, UNSPACED

WORD, MARK, SINGLE, DROPPED, CASED, IGNORABLE, LOWERS, FOLDS = (1 << bit for bit in range(8))
CHANGES, ATTACHES, GONE, CHAINED, SIGN = (1 << bit for bit in range(8, 13))

IDEOGRAPHS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")
INVISIBLE = {0x00AD, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400)}


def composites() -> dict[tuple[int, int], int]:
    """Pairs of characters that are one character in the composed form."""
    canonical = ((c, unicodedata.decomposition(chr(c))) for c in range(sys.maxunicode + 1))
    pairs = {tuple(int(part, 16) for part in given.split()): c for c, given in canonical if given and given[0] != "<"}
    return {p: c for p, c in pairs.items() if len(p) == 2 and unicodedata.normalize("NFC", chr(c)) == chr(c)}  # type: ignore[misc]


SECOND = {second for _, second in composites()} | {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # and of Hangul


def attaches(code: int) -> bool:
    """Whether a character may change its place, or become one with what is before it."""
    return unicodedata.combining(chr(code)) > 0 or code in SECOND


def changes(code: int) -> bool:
    """Whether a character is another one in the normal form, or when its case is folded."""
    c = chr(code)
    return any(unicodedata.normalize("NFKC", each) != each for each in (c, c.casefold())) or any(
        attaches(ord(each)) for each in (*c.casefold(), unicodedata.normalize("NFKD", c)[0])
    )


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
        | CHANGES * (changes(code) or within(c, HIDDEN))
        | ATTACHES * attaches(code)
        | GONE * within(c, HIDDEN)
        | CHAINED * within(c, UNSPACED)
        | SIGN * (category[0] in "PS" and code != 0xFFFD)
    )


def within(c: str, ranges: str) -> bool:
    """Whether a character is in one of the ranges of a regular expression."""
    return any(first <= c <= last for first, last in zip(ranges[::3], ranges[2::3], strict=True))


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


def decomposed(everything: Iterable[int]) -> str:
    """Two arrays: the characters, and their parts one after another."""
    parts = {c: unicodedata.normalize("NFKD", chr(c)) for c in everything if not 0xAC00 <= c < 0xD7A4}
    changed, flat = [], []
    for code, to in parts.items():
        if to != chr(code):
            changed.append(f"{{{code},{len(flat)}}}")
            flat.extend(str(ord(c)) for c in to)
    changed.append(f"{{{sys.maxunicode + 1},{len(flat)}}}")
    return listed("kDecomposed", "Parts", changed) + "\n" + listed("kParts", "std::uint32_t", flat)


def main() -> None:
    """Print the header."""
    everything = range(sys.maxunicode + 1)
    runs = [(next(codes), bits) for bits, codes in groupby(everything, flags)]
    lower = [(code, chr(code).lower()) for code in everything if flags(code) & LOWERS]
    fold = [(code, chr(code).casefold()) for code in everything if flags(code) & FOLDS]
    print(
        f"// Characters of Unicode {unicodedata.unidata_version}, by scripts/make_unicode_tables.py: do not edit.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace tb {\n\n"
        "enum Character : std::uint16_t {\n"
        f"    kWord = {WORD}, kMark = {MARK}, kSingle = {SINGLE}, kDropped = {DROPPED},\n"
        f"    kCased = {CASED}, kIgnorable = {IGNORABLE}, kLowers = {LOWERS}, kFolds = {FOLDS},\n"
        f"    kChanges = {CHANGES}, kAttaches = {ATTACHES}, kHidden = {GONE}, kUnspaced = {CHAINED}, kSign = {SIGN}\n"
        "};\n\n"
        "struct Run { std::uint32_t first, flags; };            // all characters from here to the next run\n"
        "struct Combining { std::uint32_t first, kind; };       // the same for combining classes\n"
        "struct Composite { std::uint32_t first, second, to; }; // two characters that are one\n"
        "struct Parts { std::uint32_t from, start; };           // a character, and where its parts begin in kParts\n"
        "struct Mapping { std::uint32_t from, to[3]; };         // a character and what becomes of it; 0 ends it\n"
    )
    print(listed("kRuns", "Run", (f"{{{first},{bits}}}" for first, bits in runs)))
    print(mapped("kLower", lower))
    print("// Where case folding differs from lower case.\n" + mapped("kFold", fold))
    print("// Characters that compatibility decomposes, Hangul apart, and all their parts.")
    print(decomposed(everything))
    pairs = sorted((*pair, to) for pair, to in composites().items())
    print(listed("kComposites", "Composite", ("{" + ",".join(map(str, row)) + "}" for row in pairs)))
    classes = [(next(codes), n) for n, codes in groupby(everything, lambda c: unicodedata.combining(chr(c)))]
    print(listed("kClasses", "Combining", (f"{{{first},{n}}}" for first, n in classes)))
    print("}  // namespace tb")


if __name__ == "__main__":
    main()
