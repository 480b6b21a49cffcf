"""HTML to the text that a reader sees, and its links. Nothing is fetched and no script is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple

from tallybayes.errors import NotAvailableError

MOST_TAGS = 10_000  # the time to build a tree grows with the square of its depth
INLINE = re.compile(r"</?(?:[bius]|em|s(?:trong|pan|mall)|font|b(?:ig|link)|tt|o:p|wbr)\b[^<>]*>")
ANY_TAG = re.compile(r"<[^<>]*>")
UNSEEN = ["script", "style", "noscript", "template"]
LINKS = "[href], [src], [action], [background]"


class Page(NamedTuple):
    """The text and the links of a page."""

    text: str
    links: list[str]  # addresses as they are written
    tags: list[str]  # names of the elements that mark a kind of page: form, iframe, img, …


def read_html(html: str) -> Page:
    """Text, links and characteristic elements of a page, in lower case.

    Tags inside words ("fr<b>ee</b>", "fr<!-- x -->ee") hide them from filters, not from readers: they are removed.

    Examples
    --------
    >>> read_html("<p>Fr<!-- x -->ee<script>steal()</script><p><a href='http://example.com/a'>here</a>").text.split()
    ['free', 'here']
    """
    whole = INLINE.sub("", without_comments(html.lower()))
    if whole.count("<") > MOST_TAGS:
        return Page(unescape(ANY_TAG.sub(" ", whole)), [], ["too-many-tags"])
    tree = _parser()(whole)
    tree.strip_tags(UNSEEN)
    links = [
        value
        for node in tree.css(LINKS)
        for name, value in node.attributes.items()
        if value and name in ("href", "src", "action", "background")
    ]
    tags = sorted({node.tag for node in tree.css("form, iframe, img, input, object, embed, table, base, map, meta")})
    return Page(tree.text(separator=" "), links, tags)


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
    check_installed()
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser


def check_installed() -> None:
    """Raise if there is nothing to read HTML with: a filter that skipped it would use other words."""
    try:
        import selectolax.lexbor  # noqa: F401
    except ImportError as error:
        raise NotAvailableError(
            "mail is read with selectolax, which is not installed; pip install 'tallybayes[mail]'"
        ) from error
