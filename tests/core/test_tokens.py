"""How text is cut, and the vocabulary: against Python's own idea of characters, and against CountVectorizer."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from tallybayes import _native
from tallybayes.core.kernels import texts_of
from tallybayes.core.spelling import HIDDEN, is_within, normalised, tokens_of
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.words import count_words
from tallybayes.errors import SettingError

DATA = Path(os.environ.get("TALLYBAYES_DATA", ""))

# Characters that every Python in use knows, and more of those that have made trouble.
KNOWN = st.characters(exclude_categories=("Cs",)).filter(lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn")
TRICKY = st.sampled_from("aZ_09 '’-.:\n\t\0ßſİıΣσςΑΐŉǅﬁÅée\u0301\u0345\u00ad\u200d中文ひらกำมด้วยدल्ली²½£$👍🏽❤\ufe0f")
TEXT = st.text(st.one_of(TRICKY, KNOWN), max_size=40)


def counts(documents: list[str | None], tokens: Tokens, n_jobs: int | None = 1) -> list[dict[str, float]]:
    """What each document holds, by word."""
    found = count_words(texts_of(documents), tokens, 0, len(documents), n_jobs)
    x, words = found.documents, list(found.words)
    rows = [slice(a, b) for a, b in zip(x.start[:-1], x.start[1:], strict=True)]
    return [dict(zip([words[c] for c in x.column[r]], x.data[r].tolist(), strict=True)) for r in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t PANIC, it's 42!", ["don't", "panic", ",", "it's", "42", "!"]),
        ("rock'n'roll 'quoted' o' dogs'", ["rock'n'roll", "'", "quoted", "'", "o", "'", "dogs", "'"]),
        ("well-known snake_case", ["well", "-", "known", "snake", "_", "case"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("中文字 ひ カタ now", ["中文", "文字", "中文字", "ひ", "カタ", "now"]),
        ("ภาษา", ["ภา", "าษ", "ษา", "ภาษ", "าษา", "ภาษา"]),
        ("I ❤️ it 👍🏽👩‍💻", ["i", "❤", "it", "👍", "👩", "💻"]),
        ("win £100 or $5.50", ["win", "£", "100", "or", "$", "5", ".", "50"]),
        ("soft\u00adhyphen zero\u200bwidth nul\0byte", ["softhyphen", "zero", "width", "nul", "byte"]),
        ("cafe\u0301 CAFÉ \u0301lone", ["café", "café", "lone"]),
        ("ＦＲＥＥ ﬁne ｶﾞ \u1112\u1161\u11ab", ["free", "fine", "ガ", "한"]),
        ("مَرْحَبًا مـرحبا שָׁלוֹם", ["مرحبا", "مرحبا", "שלום"]),
        (
            "hi :-) :D =( ;/ http://a C:\\b",
            ["hi", ":-)", ":d", "=(", ";/", "http", ":", "//", "a", "c", ":", "\\", "b"],
        ),
        ("", []),
        ("?! … -------- \n", ["?", "!", "...", "---"]),
        ("x" * 255 + " " + "y" * 256, ["x" * 255]),
        ("免" * 100, ["免免"] * 99 + ["免免免"] * 98 + ["免免免免"] * 97),
    ],
)
def test_what_a_token_is(text: str, words: list[str]) -> None:
    assert Tokens().tokenise(text) == words


def reference(text: str, tokens: Tokens) -> list[str]:
    """The tokens in plain Python."""
    return tokens_of(text, tokens.words, tokens.lower, tokens.ngrams, tokens.characters, tokens.stop_words)


WAYS: list[dict[str, Any]] = [
    *({"words": w} for w in ("text", "unicode", "sklearn", "lines")),
    *({"ngrams": (1, 2)}, {"ngrams": (2, 3)}, {"characters": (1, 4)}, {"stop_words": ("A", "!", "中文", "don’t")}),
    {"words": "unicode", "characters": (2, 3), "stop_words": ("ß",)},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=100)
@given(TEXT, st.booleans())
def test_the_compiled_tokeniser_is_the_plain_one(way: dict[str, Any], text: str, lower: bool) -> None:
    tokens = Tokens(**way, lower=lower)
    assert tokens.tokenise(text) == reference(text, tokens)
    for _, first, last, _ in tokens.spans(text):
        assert 0 <= first < last <= len(text)


def test_every_character_is_read_as_the_plain_tokeniser_does() -> None:
    every = [chr(c) for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Co")]
    every += ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd"]  # the others that are for private use are alike
    for lower in (True, False):
        tokens = Tokens(lower=lower)
        for i in range(0, len(every), 5000):
            text = "".join(f" aA{c}b {c}\u0301 か{c}" for c in every[i : i + 5000])
            assert tokens.tokenise(text) == reference(text, tokens)


@given(st.text(st.one_of(TRICKY, KNOWN).filter(lambda c: c not in "\u0345ͅ"), max_size=30))
def test_text_is_brought_to_the_normal_form_of_unicode(text: str) -> None:
    shown = "".join(c for c in text if not is_within(c, HIDDEN))
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", shown).casefold())
    )
    if "\u0345" not in unicodedata.normalize("NFKD", shown):  # the iota below is a letter when it is folded
        assert normalised(text) == folded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t PANIC, it's 42!", ["don't", "panic", "it's", "42"]),
        ("中文字 ひら カタカナ", ["中", "文", "字", "ひ", "ら", "カタカナ"]),
        ("I ❤️ it 👍🏽👩‍💻", ["i", "❤", "it", "👍", "👩", "💻"]),
        ("win £100 or $5.50", ["win", "£", "100", "or", "$", "5", "50"]),
        ("e\u0301te\u0301 \u0301lone", ["e\u0301te\u0301", "lone"]),
        ("?! ... \n", []),
        ("x" * 255 + " " + "y" * 256, ["x" * 255]),
    ],
)
def test_what_a_word_was_in_models_of_before(text: str, words: list[str]) -> None:
    assert Tokens("unicode").tokenise(text) == words


def test_other_ways_to_cut() -> None:
    assert Tokens(lower=False).tokenise("Don't Panic") == ["Don't", "Panic"]
    assert Tokens(ngrams=(2, 3)).tokenise("a b c d") == ["a b", "b c", "a b c", "c d", "b c d"]
    assert Tokens(stop_words=("THE",), ngrams=(1, 2)).tokenise("the end of The day") == [
        *("end", "of", "end of", "day", "of day")
    ]
    assert Tokens(characters=(2, 3)).tokenise("ab c") == [*(" a", "ab", "b ", " ab", "ab "), *(" c", "c ", " c ")]
    lines = Tokens(words="lines", lower=False)
    assert lines.tokenise("Subject: Win!\n\nfrom:a b\n\0\udcff") == ["Subject: Win!", "from:a b", "\0\udcff"]


def test_a_word_is_found_where_it_stands() -> None:
    text = "Ünï ’s 👍 Straße cafe\u0301! 免费"
    spans = [(text[a:b], n) for _, a, b, n in Tokens(ngrams=(1, 2)).spans(text)]
    assert spans == [
        *(("Ünï", 1), ("’", 1), ("s", 1), ("s", 2), ("👍", 1), ("Straße", 1), ("Straße", 2)),
        *(("cafe\u0301", 1), ("cafe\u0301", 2), ("!", 1), ("免费", 1)),
    ]


@settings(max_examples=300)
@given(st.lists(TEXT, min_size=1, max_size=4), st.sampled_from([(1, 1), (1, 2), (2, 3)]), st.booleans())
def test_the_words_of_count_vectorizer(documents: list[str], ngrams: tuple[int, int], lower: bool) -> None:
    peer = CountVectorizer(ngram_range=ngrams, lowercase=lower).build_analyzer()
    expected = []
    for document in documents:
        words = peer(document)
        expected.append({word: words.count(word) for word in words})
    assert counts(list(documents), Tokens("sklearn", lower, ngrams)) == expected


def test_every_character_is_lowered_and_classed_as_python_does() -> None:
    every = [chr(c) for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Co")]
    every += ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd"]  # the others that are for private use are alike
    documents = ["".join(f" aa{c}bb" for c in every[i : i + 5000]) for i in range(0, len(every), 5000)]
    peer, ours = CountVectorizer().build_analyzer(), Tokens("sklearn")
    for document in documents:
        assert ours.tokenise(document) == peer(document)


@given(st.lists(st.one_of(st.none(), TEXT), max_size=9), st.integers(2, 5))
def test_threads_do_not_change_the_counts(documents: list[str | None], n_jobs: int) -> None:
    one, many = (count_words(texts_of(documents), Tokens(), 0, len(documents), n) for n in (1, n_jobs))
    assert one.words == many.words
    assert np.array_equal(one.documents.dense(), many.documents.dense())
    assert counts(documents, Tokens()) == counts(documents, Tokens(), n_jobs)


@given(st.lists(TEXT, max_size=5))
def test_cutting_agrees_with_counting(documents: list[str]) -> None:
    for tokens in (Tokens(), Tokens(ngrams=(1, 3)), Tokens(characters=(1, 4)), Tokens("lines"), Tokens("unicode")):
        for document, counted in zip(documents, counts(list(documents), tokens), strict=True):
            words = tokens.tokenise(document)
            assert counted == {word: words.count(word) for word in words}


@given(st.lists(TEXT, max_size=5))
def test_hashed_words_are_numbered_by_their_hash(documents: list[str]) -> None:
    tokens = Tokens(hashed=6)
    found = count_words(texts_of(list(documents)), tokens, 0, len(documents))
    assert found.words == range(64)
    for document, row in zip(documents, found.documents.dense(), strict=True):
        expected = np.zeros(64)
        np.add.at(expected, [tokens.place(word) for word in tokens.tokenise(document)], 1.0)
        assert np.array_equal(row, expected)


def test_hashes_stay_as_they_are() -> None:
    """A model with a hashed vocabulary is read by them."""
    tokens = Tokens(hashed=20)
    words = ["", "a", "be", "cat", "viagra", "tallies", "a longer phrase of words"]
    assert [tokens.place(word) for word in words] == HASHES


HASHES = [640524, 587701, 811200, 39396, 864394, 372706, 892526]


@pytest.mark.parametrize(
    "raw", [b"caf\xe9 au lait", b"\xff\xfe", b"ok \xc0\x80 \xed\xa0\x80 ok", b"\xf0\x9f", b"a\x80b"]
)
def test_bytes_that_are_no_utf8(raw: bytes) -> None:
    counted = _native.count_tokens(texts_of([raw]), 0, 1, Tokens().native())
    words = list(Vocabulary(counted[3], counted[4]))
    replaced = raw.decode("utf-8", "replace")
    assert words == sorted(set(Tokens().tokenise(replaced)))


@pytest.mark.parametrize("words", ["text", "unicode", "sklearn", "lines"])
def test_pairs_are_counted_like_any_tokens(words: Any) -> None:
    """They are counted by the numbers of their words: enough of them that their list grows, many of them repeated."""
    rng = np.random.default_rng(0)
    some = ["a", "a'b", "ab", "zoë", "b", "10", "don't", "ภาษา", "日本語", ":-)", "!"]
    texts = [
        " ".join(rng.choice(some, n)) + "\n" + " ".join(f"w{i}" for i in rng.integers(0, 60, n)) for n in range(60)
    ]
    tokens = Tokens(words=words, ngrams=(1, 2))
    data, column, start, text, word_start = _native.count_tokens(texts_of(texts), 0, len(texts), tokens.native())
    vocabulary = list(Vocabulary(text, word_start))
    assert vocabulary == sorted(vocabulary)
    for i, each in enumerate(texts):
        found = {vocabulary[c]: n for c, n in zip(column[start[i] : start[i + 1]], data[start[i] :], strict=False)}
        assert found == Counter(tokens.tokenise(each))


def test_a_very_long_document() -> None:
    """A hundred megabytes: of words, and of one word without end."""
    tokens = Tokens(ngrams=(1, 2))
    found = count_words(texts_of(["to be or " * (100_000_000 // 9), "x" * 100_000_000]), tokens, 0, 2)
    assert list(found.words) == ["be", "be or", "or", "or to", "to", "to be"]
    assert found.documents.data.max() == 100_000_000 // 9
    assert np.diff(found.documents.start).tolist() == [6, 0]


# ------------------------------------------------------------------------------------------ the vocabulary


@given(st.lists(TEXT), st.lists(TEXT))
def test_a_vocabulary_is_a_sorted_set(one: list[str], two: list[str]) -> None:
    a, b = Vocabulary.of(one), Vocabulary.of(two)
    assert list(a) == sorted(set(one))
    assert list(a.unite(b)) == sorted({*one, *two})
    assert a.unite(b) == b.unite(a)
    assert a.places_in(b).tolist() == [list(b).index(w) if w in set(two) else -1 for w in a]
    assert a.is_sound()
    joined, mine, theirs = a.joined(b)
    assert [joined[p] for p in mine] == list(a)
    assert [joined[p] for p in theirs] == list(b)


def test_a_few_words_among_many() -> None:
    many, few = Vocabulary.of([f"w{i:05}" for i in range(5000)]), Vocabulary.of(["w00000", "w02500", "w04999", "zz"])
    assert few.places_in(many).tolist() == [0, 2500, 4999, -1]
    assert many.unite(Vocabulary.of(["w00001"])) is many
    assert many[-1] == "w04999"
    assert many[:2] == ("w00000", "w00001")
    assert "w00001" in many
    assert "w" not in many
    assert 3 not in many
    assert hash(many) == hash(Vocabulary.of(list(many)))
    assert many != tuple(many)


@pytest.mark.parametrize("start", [[0, 2, 1, 3], [1, 3], [0, 4], [0, 1, 1, 3], []])
def test_damaged_vocabularies_are_seen(start: list[int]) -> None:
    assert not Vocabulary(np.frombuffer(b"bab", np.uint8), np.array(start, dtype=np.int64)).is_sound()


# ------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"words": "letters"}, "words must be"),
        ({"ngrams": (2, 1)}, "ngrams must be two whole numbers"),
        ({"ngrams": (0, 1)}, "ngrams must be two whole numbers"),
        ({"ngrams": None}, "ngrams must be two whole numbers"),
        ({"characters": 3}, "characters must be two whole numbers"),
        ({"characters": (2, 3), "ngrams": (1, 2)}, "inside words"),
        ({"stop_words": "english"}, "stop_words must be a list"),
        ({"min_count": 0}, "min_count must be a whole number from 1"),
        ({"min_count": None}, "min_count must be a whole number"),
        ({"max_features": 0}, "max_features must be"),
        ({"hashed": 31}, "hashed must be a whole number from 1 to 30"),
        ({"hashed": 8, "min_count": 2}, "a hashed vocabulary knows none"),
    ],
)
def test_settings_that_mean_nothing(options: dict[str, object], what: str) -> None:
    with pytest.raises(SettingError, match=what):
        Tokens(**options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ real text


@pytest.mark.skipif(
    not (DATA / "text_20newsgroups.parquet").is_file(), reason="TALLYBAYES_DATA names no folder with it"
)
def test_the_vocabulary_and_counts_of_count_vectorizer_on_20_newsgroups() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    column = parquet.read_table(DATA / "text_20newsgroups.parquet", columns=["text"]).column("text")
    peer = CountVectorizer()
    expected = peer.fit_transform(column.to_pylist())
    for documents in (column, column.to_pylist()):
        found = count_words(texts_of(documents), Tokens("sklearn"), 0, len(column), None)
        assert list(found.words) == peer.get_feature_names_out().tolist()
        x = found.documents
        expected.sort_indices()
        assert np.array_equal(x.summed().column, expected.indices)
        assert np.array_equal(x.summed().data, expected.data)
        assert np.array_equal(x.start, expected.indptr)


def test_tokens_of_several_words_one_of_which_is_rare():
    words = Vocabulary.of(["a", "a b", "a b c", "b", "b a", "c", "c b", "d"])
    rare = np.array([word in {"c", "a b c", "c b", "b a"} for word in words])
    assert [word for word, found in zip(words, words.with_rare_words(rare), strict=True) if found] == ["a b c", "c b"]


def test_tokens_of_several_words_are_told_from_single_ones():
    words = Vocabulary.of(["a", "a b", "b c d", "", "ü"])
    assert [word for word, found in zip(words, words.of_several_words, strict=True) if found] == ["a b", "b c d"]
    assert not Vocabulary.of([]).of_several_words.size
