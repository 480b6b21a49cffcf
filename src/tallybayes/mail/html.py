"""HTML to the text that a reader sees, the text that is hidden from readers, and links.

Nothing is fetched and no script is run. Of styles only those are read that an element carries itself: spam hides text
from readers that way, to show it to filters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from importlib.util import find_spec
from typing import Any, NamedTuple

from tallybayes.errors import NotAvailableError

MOST_TAGS = 10_000  # the time to build a tree grows with the square of its depth
MOST_STYLED = 500  # elements whose style is looked at
MOST_ABOVE = 30  # elements above one that may colour its background
NEAR = 40  # how far a colour may be from the background, in all of red, green and blue together, and not be seen
INLINE = re.compile(r"</?(?:[bius]|em|s(?:trong|pan|mall)|font|b(?:ig|link)|tt|o:p|wbr)\b[^<>]*>")
ANY_TAG = re.compile(r"<[^<>]*>")
UNSEEN = ["script", "style", "noscript", "template"]
LINKS = "[href], [src], [action], [background]"
# What may hide text; only a page that has it is looked at element by element.
HINT = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0|color|\bhidden\b|size=.?0|"
    r":\s*-\d{4}"
)
MARK = "data-tallybayes"
STYLED = "[style], [hidden], font[color], font[size]"
NOT_SHOWN = re.compile(
    r"display:none|visibility:hidden|opacity:0(?:\.0*)?(?:;|!|$)|mso-hide:all|"
    r"(?:^|;)(?:left|top|text-indent|margin-left):-\d{4,}"  # far outside the page
)
NO_SIZE = re.compile(r"(?:font-size|max-height):(?:0*(?:\.0+)?(?:px|pt|em|rem|%)?|1p[xt])(?:;|!|$)")
COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
NAMED = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "snow": (255, 250, 250), "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245), "navy": (0, 0, 128),
}  # fmt: skip
Colour = tuple[int, int, int]


class Page(NamedTuple):
    """The text and the links of a page."""

    text: str
    links: list[str]  # addresses as they are written
    tags: list[str]  # names of the elements that mark a kind of page: form, iframe, img, …, and how text is hidden
    hidden: str = ""  # text that no reader sees


def read_html(html: str) -> Page:
    """Text, links and characteristic elements of a page, in lower case.

    Tags inside words ("fr<b>ee</b>", "fr<!-- x -->ee") hide them from filters, not from readers: they are removed. Text
    that is not shown, has no size or the colour of its background is returned apart.

    Examples
    --------
    >>> page = read_html("<p>Fr<!-- x -->ee<p style='color: #fff'>minutes</p><a href='http://example.com/a'>here</a>")
    >>> page.text.split(), page.hidden.split(), page.tags
    (['free', 'here'], ['minutes'], ['hidden-by-colour'])
    """
    whole, hidden, how = without_comments(html.lower()), "", list[str]()
    if whole.count("<") > MOST_TAGS:
        return Page(unescape(ANY_TAG.sub(" ", INLINE.sub("", whole))), [], ["too-many-tags"])
    if HINT.search(whole):
        whole, hidden, how = _without_hidden(whole)
    tree = _parser()(INLINE.sub("", whole))
    tree.strip_tags(UNSEEN)
    links = [
        value
        for node in tree.css(LINKS)
        for name, value in node.attributes.items()
        if value and name in ("href", "src", "action", "background")
    ]
    tags = sorted({node.tag for node in tree.css("form, iframe, img, input, object, embed, table, base, map, meta")})
    return Page(tree.text(separator=" "), links, tags + how, hidden)


# ---------------------------------------------------------------------------------------------- hidden text


def _without_hidden(html: str) -> tuple[str, str, list[str]]:
    """The page without what is hidden, the hidden text, and how it is hidden."""
    tree = _parser()(html)
    tree.strip_tags(UNSEEN)
    how = set[str]()
    for node in tree.css(STYLED)[:MOST_STYLED]:
        if node.tag not in ("html", "body") and (reason := _hidden_by(node)):
            node.attrs[MARK] = reason
    # What is removed is freed, and all that is in it: only the outermost may be touched.
    inner = {node.mem_id for node in tree.css(f"[{MARK}] [{MARK}]")}
    texts = list[str]()
    for node in tree.css(f"[{MARK}]"):
        if node.mem_id not in inner:
            if text := node.text(separator=" ").strip():
                texts.append(text)
                how.add(f"hidden-by-{node.attributes[MARK]}")
            node.decompose()
    return (tree.html or "", " ".join(texts), sorted(how)) if how else (html, "", [])


def _hidden_by(node: Any) -> str | None:
    """How an element hides its text from readers; None where it does not."""
    attributes = node.attributes
    style = "".join((attributes.get("style") or "").split())
    if "hidden" in attributes or NOT_SHOWN.search(style):
        return "style"
    if NO_SIZE.search(style) or (node.tag == "font" and (attributes.get("size") or "").strip() == "0"):
        return "size"
    written = COLOUR.search(style)
    colour = _colour(written[1] if written else attributes.get("color") if node.tag == "font" else None)
    if colour is None:
        return None
    behind = _background(node)
    near = behind is not None and sum(abs(a - b) for a, b in zip(colour, behind, strict=True)) <= NEAR
    return "colour" if near else None


def _background(node: Any) -> Colour | None:
    """The colour behind an element: its own or that of an element above it, else white; None behind an image."""
    for _ in range(MOST_ABOVE):
        if node is None or node.tag in ("-undef", "-document"):
            break
        attributes = node.attributes
        written = BACKGROUND.search("".join((attributes.get("style") or "").split()))
        value = written[1] if written else attributes.get("bgcolor")
        if value or attributes.get("background"):
            return _colour(value)
        node = node.parent
    return NAMED["white"]


def _colour(text: str | None) -> Colour | None:
    """Red, green and blue of a colour; None where it is none of the usual kinds."""
    text = (text or "").strip().strip("\"'")
    if text in NAMED:
        return NAMED[text]
    if match := re.fullmatch(r"#?([0-9a-f]{6}|[0-9a-f]{3})", text):
        digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if match := re.fullmatch(r"rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})(?:,[\d.]{1,8})?\)", text):
        return int(match[1]), int(match[2]), int(match[3])
    return None


# ---------------------------------------------------------------------------------------------- comments


def without_comments(html: str) -> str:
    """The page less its comments, in one pass; what follows a comment that is never closed is shown by readers too."""
    return "".join(_outside(html))


def _outside(html: str) -> Iterator[str]:
    at = 0
    while (start := html.find("<!--", at)) >= 0:
        yield html[at:start]
        end = html.find("-->", start + 4)
        if end < 0:
            yield html[start + 4 :]
            return
        at = end + 3
    yield html[at:]


def _parser() -> Any:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise NotAvailableError(MISSING) from error
    return LexborHTMLParser


MISSING = "mail is read with selectolax, which is not installed; pip install 'tallybayes[mail]'"


def check_installed() -> None:
    """Raise if there is nothing to read HTML with: a filter that skipped it would use other words."""
    if find_spec("selectolax") is None:  # importing it takes a while, and many messages have no HTML
        raise NotAvailableError(MISSING)
