"""Tokenising text, and the vocabulary that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self, get_args, overload

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.spelling import spelled
from tallybayes.errors import SettingError

Words = Literal["text", "unicode", "sklearn", "lines", "tags"]
MOST_BITS = 30  # of a hashed vocabulary
LISTED = "\x1f"  # before each of the tags of a list, which may hold any other character


@dataclass(frozen=True, slots=True)
class Tokens:
    """How text is tokenised.

    Text is first brought to one spelling: Unicode's NFKC, case folded, invisible characters and the vowel points of
    Arabic and Hebrew left out. ``Straße`` and ``STRASSE`` are one word, and so are both ways to write ``café``. A word
    is a run of letters and digits with their marks. An apostrophe between two letters belongs to it (``don't``), a
    hyphen or an underscore ends it. Scripts without blanks between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese
    and others) are read as runs of two to four characters. Punctuation marks and emoji are tokens, too, but no part of
    n-grams: ``:-)`` is one, ``!!!`` is one, and more than three of the same are three. What is longer than 255 bytes
    is data, not a word, and is passed over.

    Parameters
    ----------
    words : {"text", "unicode", "sklearn", "lines", "tags"}, default="text"
        What a word is: as above; as it was in earlier versions, without punctuation marks and normal form,
        every ideograph a word; as in scikit-learn's ``CountVectorizer``, two or more of ``\\w`` in the lower-cased
        text; each line of the text is a token already, whatever it holds; or what is between two separators is one,
        without the blanks around it.
    lower : bool, default=True
        Whether case is folded.
    ngrams : tuple of two int, default=(1, 1)
        Least and most words of a token.
    characters : tuple of two int, optional
        Count runs of so many characters inside the words, with a blank before and after each word, and not the words.
    stop_words : tuple of str, default=()
        Words to pass over, as they are after folding.
    min_count : int, default=1
        Leave out tokens that occur less often in the rows of `fit`.
    max_features : int, optional
        Keep only so many tokens, the most frequent in the rows of `fit`.
    hashed : int, optional
        Instead of a vocabulary, number the tokens by a hash of so many bits: memory is fixed, and the words are not
        known by name.
    damped : bool, default=False
        Count log(1 + n) for a token that occurs n times: further occurrences count less than the first.
    scaled : bool, default=False
        Scale the counts of each text to a Euclidean length of one, all its tokens included: a long text counts no
        more than a short one.
    separator : str, default="|"
        The character between tags.

    Examples
    --------
    >>> Tokens(ngrams=(1, 2)).tokenise("Don't panic!")
    ["don't", 'panic', "don't panic", '!']
    >>> Tokens(words="sklearn").tokenise("Don't panic!")
    ['don', 'panic']
    >>> Tokens(words="tags", separator=";", lower=False).tokenise("Film noir; Drama")
    ['Film noir', 'Drama']
    """

    words: Words = "text"
    lower: bool = True
    ngrams: tuple[int, int] = (1, 1)
    characters: tuple[int, int] | None = None
    stop_words: tuple[str, ...] = ()
    min_count: int = 1
    max_features: int | None = None
    hashed: int | None = None
    damped: bool = False
    scaled: bool = False
    separator: str = "|"

    def __post_init__(self) -> None:
        if self.words not in get_args(Words):
            raise SettingError(f"words must be 'text', 'unicode', 'sklearn', 'lines' or 'tags', not {self.words!r}")
        if not isinstance(self.separator, str) or len(self.separator) != 1 or not self.separator.isascii():
            raise SettingError(f"separator must be a single ASCII character such as '|', not {self.separator!r}")
        for option in ("ngrams", "characters"):
            given = getattr(self, option)
            if given is None and option == "characters":
                continue
            pair = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
            if len(pair) != 2 or not all(_is_whole(n) for n in pair) or not 1 <= pair[0] <= pair[1] <= 1000:
                raise SettingError(f"{option} must be two whole numbers such as (1, 2), the least first, not {given!r}")
            object.__setattr__(self, option, (int(pair[0]), int(pair[1])))
        if self.words == "tags" and (self.ngrams != (1, 1) or self.characters is not None):
            raise SettingError("tags are counted whole, so they go with ngrams=(1, 1) and without characters")
        if self.characters is not None and self.ngrams != (1, 1):
            raise SettingError("characters are counted inside words, so they go with ngrams=(1, 1)")
        if isinstance(self.stop_words, str) or not all(isinstance(word, str) for word in self.stop_words):
            raise SettingError(f"stop_words must be a list of words, not {self.stop_words!r}")
        object.__setattr__(self, "stop_words", tuple(self.stop_words))
        limits = {"min_count": (1, None), "max_features": (1, None), "hashed": (1, MOST_BITS)}
        for option, (least, most) in limits.items():
            given = getattr(self, option)
            if given is None and option != "min_count":
                continue
            if not _is_whole(given) or given < least or (most is not None and given > most):
                raise SettingError(
                    f"{option} must be a whole number from {least}{f' to {most}' if most else ''}, not {given!r}"
                )
        if self.hashed is not None and self.is_chosen:
            raise SettingError("min_count and max_features choose among words, and a hashed vocabulary knows none")

    @property
    def is_chosen(self) -> bool:
        """Whether the vocabulary is chosen when the model is fitted, and then stays as it is."""
        return self.min_count > 1 or self.max_features is not None

    @property
    def has_pairs(self) -> bool:
        """Whether words are also counted together, with a blank between them."""
        return self.ngrams[1] > 1 and self.words != "lines"

    @property
    def counted(self) -> Tokens:
        """What is counted, however counts weigh afterwards."""
        return replace(self, damped=False, scaled=False) if self.damped or self.scaled else self

    def native(self) -> Any:
        """The settings as the kernel takes them."""
        least, most = self.characters or (0, 0)
        stop = [spelled(word, self.words, self.lower) for word in self.stop_words]
        return _native.cut(self.words, self.lower, *self.ngrams, least, most, self.hashed or 0, stop, self.separator)

    def tokenise(self, text: str) -> list[str]:
        """The tokens of one text, in their order.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str
        """
        return [token for token, _, _, _ in self.spans(text)]

    def spans(self, text: str) -> list[tuple[str, int, int, int]]:
        """The tokens of one text: each with where its last word is in the text, and of how many words it is."""
        texts = _native.texts_of_list([text])
        listed = _native.list_tokens(texts, 0, self.native())
        if not text.isascii():
            raw = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
            # Characters that begin before each byte: places in bytes become places in the string.
            before = np.concatenate(([0], np.cumsum((raw & 0xC0) != 0x80)))
            listed = [(token, int(before[first]), int(before[last]), n) for token, first, last, n in listed]
        return [(decoded(token), first, last, n) for token, first, last, n in listed]

    def place(self, token: str) -> int:
        """The number of a token in a hashed vocabulary."""
        return int(_native.hash_token(token.encode("utf-8", "surrogatepass"), self.hashed))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def decoded(token: bytes) -> str:
    """The text of a token."""
    return token.decode("utf-8", "surrogatepass")


# Good for short texts and long ones: words and pairs of words, with little weight on repeats and length.
USUAL = Tokens(ngrams=(1, 2), damped=True, scaled=True)


@dataclass(frozen=True, eq=False)
class Vocabulary(Sequence[str]):
    """Words in order, each once, in two arrays: a hundred thousand of them are made strings only when asked for.

    Examples
    --------
    >>> Vocabulary.of(["to", "be", "or"])
    Vocabulary(3 words: be, or, to)
    """

    text: NDArray[np.uint8]  # the words one after another, in UTF-8
    start: NDArray[np.int64]  # where each begins, and the end of the last

    def __post_init__(self) -> None:
        if self.text.ndim != 1 or self.start.ndim != 1:
            raise SettingError("words are two lists: their bytes, and where each begins")

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """The vocabulary of some words."""
        encoded = sorted({word.encode("utf-8", "surrogatepass") for word in words})
        start = np.concatenate(([0], np.cumsum([len(word) for word in encoded]))).astype(np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), start)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def _bytes(self) -> bytes:
        return self.text.tobytes()

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        if isinstance(position, slice):
            return tuple(self[p] for p in range(len(self))[position])
        p = range(len(self))[position]
        return decoded(self._bytes[self.start[p] : self.start[p + 1]])

    def __iter__(self) -> Iterator[str]:
        raw, start = self._bytes, self.start.tolist()
        return (decoded(raw[a:b]) for a, b in pairwise(start))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.place(word) >= 0

    def place(self, word: str) -> int:
        """The position of a word; −1 if it is none of them."""
        return int(Vocabulary.of([word]).places_in(self)[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        if self is other:
            return True
        return np.array_equal(self.start, other.start) and np.array_equal(self.text, other.text)

    def __hash__(self) -> int:
        return hash((len(self), len(self.text)))

    def __repr__(self) -> str:
        shown = ", ".join(self[:5]) + (", …" if len(self) > 5 else "")
        return f"Vocabulary({len(self):,} word{'' if len(self) == 1 else 's'}{': ' if len(self) else ''}{shown})"

    def is_sound(self) -> bool:
        """Whether the arrays are those of words in order, each once."""
        if len(self.start) == 0 or self.start[0] != 0 or self.start[-1] != len(self.text):
            return False
        if not (np.diff(self.start) >= 0).all() or not _native.are_sorted(self.text, self.start):
            return False
        try:
            decoded(self._bytes)
        except UnicodeDecodeError:
            return False
        inside = self.start[1:-1][self.start[1:-1] < len(self.text)]
        return bool(((self.text[inside] & 0xC0) != 0x80).all())  # no word begins in the middle of a character

    def places_in(self, larger: Vocabulary) -> NDArray[np.int32]:
        """Where each word is in another vocabulary; −1 where it is not."""
        if self == larger:
            return np.arange(len(self), dtype=np.int32)
        places = np.empty(len(self), dtype=np.int32)
        _native.words_in(self.text, self.start, larger.text, larger.start, places)
        return places

    @cached_property
    def of_several_words(self) -> NDArray[np.bool_]:
        """Which tokens (V,) are of several words, with blanks between them."""
        blanks = np.concatenate(([0], np.cumsum(self.text == ord(" "), dtype=np.int32)))
        return np.diff(blanks[self.start]) > 0

    def with_rare_words(self, rare: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which tokens (V,) are rare and of several words, one of which is rare itself."""
        found = np.empty(len(self), dtype=bool)
        _native.with_rare_words(self.text, self.start, rare, found)
        return found

    def unite(self, other: Vocabulary) -> Vocabulary:
        """The words of both; one that has them all stays as it is."""
        small, large = (self, other) if len(self) <= len(other) else (other, self)
        if (small.places_in(large) >= 0).all():
            return large
        return self.joined(other)[0]

    def joined(self, other: Vocabulary) -> tuple[Vocabulary, NDArray[np.int32], NDArray[np.int32]]:
        """The words of both, and where those of each are among them."""
        mine, theirs = np.empty(len(self), dtype=np.int32), np.empty(len(other), dtype=np.int32)
        text, start = _native.unite_words(self.text, self.start, other.text, other.start, mine, theirs)
        return Vocabulary(text, start), mine, theirs

    def select(self, kept: NDArray[np.bool_]) -> Vocabulary:
        """Some of the words."""
        length = np.diff(self.start)
        start = np.concatenate(([0], np.cumsum(length[kept]))).astype(np.int64)
        return Vocabulary(self.text[np.repeat(kept, length)], start)
