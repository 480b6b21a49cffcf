"""The tokens of a text in plain Python: the text of this module goes into exported models.

It needs nothing but the standard library, and finds what `tallybayes.core.tokens.Tokens` finds: the compiled tokeniser
is tested against it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache
from typing import Any

# Ranges of characters, as in the brackets of a regular expression.
# Scripts without blanks: Thai, Lao, Burmese, Khmer, Tai, Balinese, Javanese, Chinese, Japanese, Yi, Tangut.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7-\u17d7\u17dc-\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7c\u1b00-\u1b4c\u3005-\u3007"
    "\u3021-\u3029\u3038-\u303b\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\ua980-\ua9c0\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa60-\uaa76\uaa7a-\uaadd\uf900-\ufaff\U00016fe0-\U00018d08\U0001b000-\U0001b2fb\U00020000-\U0003fffd"
)
# Left out, as if they were not there: invisible ones, skin tones, the tatweel, points of Hebrew and Arabic vowels.
HIDDEN = (
    "\u00ad-\u00ad\u034f-\u034f\u0591-\u05bd\u05bf-\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7-\u05c7\u0600-\u0605"
    "\u0610-\u061a\u061c-\u061c\u0640-\u0640\u064b-\u0652\u0656-\u065f\u0670-\u0670\u06d6-\u06dd\u06df-\u06e4"
    "\u06e7-\u06e8\u06ea-\u06ed\u070f-\u070f\u08ca-\u08ff\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff-\ufeff\ufff9-\ufffb\U0001f3fb-\U0001f3ff\U000e0000-\U000e01ef"
)
LONGEST = 255  # bytes of a word: what is longer is data
MOST_SIGNS = 3  # of a run of the same sign
GRAMS = (2, 4)  # characters of a token where no blanks are


def is_within(c: str, ranges: str) -> bool:
    """Whether a character is in one of the ranges."""
    return any(first <= c <= last for first, last in zip(ranges[::3], ranges[2::3], strict=True))


@cache
def parts_of(c: str, lower: bool) -> str:
    """A character as it is compared: its parts by compatibility, in folded case."""
    if is_within(c, HIDDEN):
        return ""
    parts = unicodedata.normalize("NFKD", c)
    return unicodedata.normalize("NFKD", parts.casefold()) if lower else parts


@cache
def kind_of(c: str) -> str:
    """What a character is: word, mark (of the letter before it), unspaced, sign, single (sign), or blank."""
    category = unicodedata.category(c)
    if is_within(c, UNSPACED):
        return "unspaced"
    if c.isalnum():
        return "word"
    if c == "\ufffd":
        return "blank"
    if category in ("So", "Sc"):
        return "single"
    return {"M": "mark", "P": "sign", "S": "sign"}.get(category[0], "blank")


def emoticon(text: str, i: int) -> int:
    """How long the emoticon is that begins at a place; 0 if there is none."""
    if text[i] not in ":;=":
        return 0
    j = i + 2 if text[i + 1 : i + 2] in ("-", "'", "^") else i + 1
    mouth, after = text[j : j + 1], text[j + 1 : j + 2]
    if mouth and mouth in ")(][}{|*":
        return j + 1 - i
    ends = not after or not (after.isalnum() or after in "_/\\")
    return j + 1 - i if mouth and mouth in "DdPpOo/\\" and ends else 0


def normalised(text: str, lower: bool = True) -> str:
    """A text in one spelling: NFKC, in folded case, without hidden characters.

    >>> normalised("Cafe\u0301 \uff26\uff32\uff25\uff25") == "caf\xe9 free"
    True
    """
    return unicodedata.normalize("NFC", "".join(parts_of(c, lower) for c in text))


def pieces(text: str, lower: bool = True) -> list[tuple[str, str]]:
    """The words, signs and unspaced runs of a text in their order, each with its kind."""
    text = normalised(text, lower)
    found: list[tuple[str, str]] = []
    i, n = 0, len(text)
    while i < n:
        kind, j = kind_of(text[i]), i + 1
        if kind == "word":
            while j < n and (kind_of(text[j]) in ("word", "mark") or _joins(text, j)):
                j += 1
            word = text[i:j].replace("\u2019", "'")
            if len(word.encode("utf-8", "surrogatepass")) <= LONGEST:
                found.append((word, kind))
        elif kind == "unspaced":
            while j < n and kind_of(text[j]) in ("unspaced", "mark"):
                j += 1
            found.append((text[i:j], kind))
        elif kind == "single":
            found.append((text[i], "sign"))
        elif kind == "sign":
            smile = emoticon(text, i)
            while not smile and j < n and text[j] == text[i] and not emoticon(text, j):
                j += 1
            j = i + smile if smile else j
            found.append((text[i:j] if smile else text[i : min(j, i + MOST_SIGNS)], kind))
        i = j
    return found


def _joins(text: str, i: int) -> bool:
    """Whether an apostrophe stands between two letters of a word."""
    return text[i] in "'\u2019" and i + 1 < len(text) and kind_of(text[i + 1]) == "word"


# ------------------------------------------------------------------------------------------ other ways to tokenise

IDEOGRAPHS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")
INVISIBLE = "\u00ad-\u00ad\u200c-\u200d\u2060-\u2060\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"


@cache
def is_single(c: str) -> bool:
    """Whether a character was a word by itself in models of before."""
    return unicodedata.category(c) in ("So", "Sc") or unicodedata.name(c, "").startswith(IDEOGRAPHS)


def words_before(text: str, lower: bool) -> list[str]:
    """The words of a text as models of before have them."""
    text = "".join(c for c in text if not is_within(c, INVISIBLE))
    found, word = [""], ""
    for i, c in enumerate(text):
        after = text[i + 1 : i + 2]
        joins = c in "'\u2019" and word and after and (after.isalnum() or after == "_") and not is_single(after)
        if c != "\ufffd" and not is_single(c) and (c.isalnum() or (word and unicodedata.category(c)[0] == "M")):
            word += c.casefold() if lower else c
        elif joins:
            word += "'"
        else:
            found += [word, c if c != "\ufffd" and is_single(c) else ""]
            word = ""
    return [each for each in (*found, word) if each and len(each.encode("utf-8", "surrogatepass")) <= LONGEST]


def tags_of(text: str | list[str], separator: str) -> list[str]:
    """The tags of a text, or of a list, without the blanks around them."""
    if isinstance(text, str):
        text = text.split("\x1f" if text.startswith("\x1f") else separator)
    found = (str(tag).strip(" \t\n\v\f\r") for tag in text if tag is not None)
    return [tag for tag in found if tag]


def all_pieces(text: str, words: str, lower: bool, separator: str = "|") -> list[tuple[str, str]]:
    """The pieces of a text in any of the ways, each with its kind."""
    if words == "text":
        return pieces(text, lower)
    if words == "sklearn":
        return [(each, "word") for each in re.findall(r"\w\w+", text.lower() if lower else text)]
    if words == "unicode":
        return [(each, "word") for each in words_before(text, lower)]
    tokens = text.split("\n") if words == "lines" else tags_of(text, separator)
    lines = (line.casefold() if lower else line for line in tokens)
    return [(line, "word") for line in lines if line]


def spelled(word: str, words: str, lower: bool) -> str:
    """A word that is to be passed over, as the tokens are spelled."""
    if words == "text":
        return normalised(word, lower).replace("\u2019", "'")
    return word.casefold() if lower and words != "sklearn" else word


def grams_of(piece: str, sizes: tuple[int, int]) -> list[str]:
    """The runs of so many characters; one that is shorter is a run itself."""
    found = range(min(sizes[0], len(piece)), min(sizes[1], len(piece)) + 1)
    return [piece[i : i + n] for n in found for i in range(len(piece) + 1 - n)]


def tokens_of(
    text: str,
    words: str = "text",
    lower: bool = True,
    ngrams: tuple[int, int] = (1, 1),
    characters: tuple[int, int] | None = None,
    stop_words: tuple[str, ...] = (),
    separator: str = "|",
) -> list[str]:
    """The tokens of a text, as `Tokens.tokenise` finds them.

    >>> tokens_of("Don't panic!", ngrams=(1, 2))
    ["don't", 'panic', "don't panic", '!']
    """
    stop = {spelled(word, words, lower) for word in stop_words}
    found: list[str] = []
    phrase: list[str] = []
    for piece, kind in all_pieces(text, words, lower, separator):
        if piece in stop:
            continue
        if characters is not None:
            found += grams_of(f" {piece} ", characters)
        elif kind == "unspaced":
            found += [gram for gram in grams_of(piece, GRAMS) if gram not in stop]
        elif kind == "word":
            phrase = [*phrase, piece][-ngrams[1] :]
            found += [" ".join(phrase[-n:]) for n in range(ngrams[0], min(ngrams[1], len(phrase)) + 1)]
        elif ngrams[0] == 1:
            found.append(piece)
    return found


def amounts_of(text: str, damped: bool, scaled: bool, **tokens: Any) -> dict[str, float]:
    """How much of each token a text has."""
    found: dict[str, float] = {}
    for token in tokens_of(text, **tokens):
        found[token] = found.get(token, 0.0) + 1.0
    if damped:
        found = {token: math.log1p(n) for token, n in found.items()}
    length = math.sqrt(sum(n * n for n in found.values())) if scaled else 0.0
    return {token: n / length for token, n in found.items()} if length else found
