"""Numbers that are written as text: with a decimal comma, separators of thousands, a currency or a unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tallybayes.core.readings import NumberText
from tallybayes.data.sql import literal

SPACES = " \u00a0\u202f\u2009"
CURRENCY = r"(?:US\$|R\$|A\$|C\$|[$€£¥₹₽₩₺₴₪₫฿]|CHF|USD|EUR|GBP|JPY|SEK|NOK|DKK|PLN|CZK|INR|CNY|Rs\.?|kr\.?)"
UNIT = r"[^\d\s.,'_+\-()][^\d,'_+()]{0,11}|/ ?\d{1,3}"  # "km", or what a score is out of: "/10"
DIGITS = rf"\d[\d.,'’_{SPACES}]*?\d|\d|\.\d+|\d+\."
BODY = rf"(?P<body>(?:{DIGITS})(?:[eE][+-]?\d+)?)(?P<unit>\s*(?:{UNIT})?)"
SHAPE = re.compile(rf"^(?P<open>\(?)[+\-−]?\s*(?P<currency>{CURRENCY}?)\s*[+\-−]?{BODY}(?P<close>\)?)$")
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NUMBER = re.compile(NUMBER)
CODE = re.compile(r"^0\d")  # a number does not begin with a zero: a code or a telephone number does

# Words that stand for a missing number wherever the other values are numbers.
_WORDS = """? ?? - -- --- – — . .. * n/a na n.a. #n/a #na #value! #div/0! nan null (null) <na> \\n none nil unknown unk
tbd missing n.d. n/d nd tba"""
MISSING_WORDS = frozenset(_WORDS.split()) | {"", "no data", "not available", "not applicable", "not known"}
LONGEST = 40  # characters of a number
MOST_CODES = 3  # other words that stand for a missing number
FEWEST_NUMBERS = 10  # different ones that a column with such words has


def is_missing_word(text: str) -> bool:
    """Whether a text stands for a missing number.

    Examples
    --------
    >>> is_missing_word("N/A"), is_missing_word("none "), is_missing_word("nine")
    (True, True, False)
    """
    return text.strip().lower() in MISSING_WORDS


def replace_in(text: str, replaced: Sequence[tuple[str, str]]) -> str:
    """A text with some in the place of others, one after another."""
    for old, new in replaced:
        text = text.replace(old, new)
    return text


def replace_sql(text: str, replaced: Sequence[tuple[str, str]]) -> str:
    """The same in DuckDB."""
    for old, new in replaced:
        text = f"replace({text}, {literal(old)}, {literal(new)})"
    return text


def number_of(text: str, how: NumberText) -> float:
    """The number that a text holds; NaN where there is none.

    Examples
    --------
    >>> number_of("1.234,5", NumberText(((".", ""), (",", ".")))), number_of("?", NumberText())
    (1234.5, nan)
    """
    text = replace_in(text, how.replaced).strip(" ")
    return float(text) if _NUMBER.match(text) else float("nan")


def number_sql(column: str, how: NumberText) -> str:
    """The same in DuckDB: NULL where there is none."""
    text = f"trim({replace_sql(column, how.replaced)})"
    return f"CASE WHEN regexp_matches({text}, {literal(NUMBER)}) THEN try_cast({text} AS DOUBLE) END"


def number_text(values: Sequence[str], decimal: str | None = None, forced: bool = False) -> NumberText | None:
    """How different texts are read as numbers; None where they are not.

    Codes that begin with a zero are text, and so are whole numbers that are stored as text and nothing else. All
    numbers of a column have the same unit or currency.

    Examples
    --------
    >>> number_text(["1.234,50 €", "12,00 €"]).replaced
    ((' €', ''), ('.', ''), (',', '.'))
    >>> number_text(["$12.50", "($3.20)"]).replaced
    (('$', ''), ('(', '-'), (')', ''))
    >>> number_text(["12 km", "500 m"]), number_text(["007", "008"]), number_text(["A1", "B2"])
    (None, None, None)
    """
    found = [(text, _shape(text)) for text in values]
    shapes = [shape for _, shape in found if shape is not None]
    others = [text for text, shape in found if shape is None and not is_missing_word(text)]
    if not shapes or (others and not forced and (len(others) > MOST_CODES or len(shapes) < FEWEST_NUMBERS)):
        return None
    bodies = [shape["body"] for shape in shapes]
    prefixes, suffixes = {shape["currency"] for shape in shapes}, {shape["unit"].strip() for shape in shapes}
    if len(prefixes) > 1 or len(suffixes) > 1 or (not forced and any(map(CODE.match, bodies))):
        return None
    plain = len(shapes) == len(values) and all(shape[0].isdigit() for shape in shapes)
    if plain and not forced:
        return None
    marks = _marks(bodies, decimal)
    if marks is None:
        return None
    unit = _replaced([shape["unit"] for shape in shapes], [shape["currency"] for shape in shapes])
    return NumberText((*unit, *_minus(shapes), *marks))


def _shape(text: str) -> re.Match[str] | None:
    shape = SHAPE.match(text.strip()) if len(text) <= LONGEST else None
    return shape if shape is not None and bool(shape["open"]) == bool(shape["close"]) else None


def _minus(shapes: Sequence[re.Match[str]]) -> tuple[tuple[str, str], ...]:
    """What makes a minus of the sign that a negative number has: bookkeepers put it in parentheses."""
    sign = (("−", "-"),) if any("−" in shape[0] for shape in shapes) else ()
    enclosed = sum(bool(shape["open"]) for shape in shapes)
    return (*sign, ("(", "-" if enclosed < len(shapes) else ""), (")", "")) if enclosed else sign


def _replaced(suffixes: Sequence[str], prefixes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What takes the currency and the unit away, with the space before it where it always has one."""
    spaced = Counter(suffixes)
    unit = next(iter(spaced)) if len(spaced) == 1 else suffixes[0].strip()
    return tuple((text, "") for text in (prefixes[0], unit) if text.strip())


def _marks(bodies: Sequence[str], decimal: str | None) -> tuple[tuple[str, str], ...] | None:
    """What is done with the marks between digits; None where they contradict each other."""
    plain = [re.split("[eE]", body)[0] for body in bodies]
    decimal = decimal or _decimal(plain)
    thousands = sorted({mark for body in plain for mark in body if not mark.isdigit() and mark != decimal})
    if decimal is None or len([mark for mark in thousands if mark not in SPACES]) > 1:
        return None
    mark = f"[{re.escape(''.join(thousands)) or ' '}]"
    groups = re.compile(
        rf"^\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}(?:{re.escape(decimal)}\d*)?$"  # 12,34,567 in India
    )
    for body in plain:
        whole, _, rest = body.partition(decimal)
        if decimal in rest or any(mark in rest for mark in thousands):
            return None
        if any(mark in whole for mark in thousands) and not groups.match(body):
            return None
    removed = tuple((mark, "") for mark in thousands)
    return removed if decimal == "." or not any("," in body for body in plain) else (*removed, (",", "."))


def _decimal(bodies: Sequence[str]) -> str | None:
    """The decimal mark: that which comes last, or which does not separate three digits."""
    found = set[str]()
    for body in bodies:
        marks = [mark for mark in body if mark in ".,"]
        if len(set(marks)) == 2:
            found.add(marks[-1])
        elif len(marks) > 1:
            found.add("." if marks[0] == "," else ",")  # what comes twice separates thousands
        elif marks == [","] and not re.match(r"^[1-9]\d{0,2},\d{3}$", body.replace(" ", "")):
            found.add(",")
        elif marks == ["."] and not re.match(r"^[1-9]\d{0,2}\.\d{3}$", body):
            found.add(".")
    if len(found) > 1:
        return None
    return found.pop() if found else "."
