"""What all plots share: axes, colours and the format of names and figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tallybayes.errors import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999")  # Okabe and Ito 2008
FOR, AGAINST = "#0072b2", "#d55e00"
STYLES = ("-", "--", ":", "-.")  # for readers who see no colours, and for more classes than colours
LINE = 1.8


def pyplot() -> Any:
    """matplotlib.pyplot, if it is installed."""
    needs("matplotlib", "plot")
    import matplotlib.pyplot as plt

    return plt


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or new ones of so many inches."""
    if ax is not None:
        return ax
    return pyplot().figure(figsize=size, layout="constrained").subplots()


def cycle() -> Sequence[str]:
    """The colours of the user's style, or those of this package where the style is matplotlib's own."""
    pyplot()
    import matplotlib as mpl

    own = mpl.rcParams["axes.prop_cycle"].by_key().get("color", [])
    plain = mpl.rcParamsDefault["axes.prop_cycle"].by_key().get("color", [])
    dark = mpl.style.library["dark_background"]["axes.prop_cycle"].by_key().get("color", [])
    return COLOURS if not own or own in (plain, dark) else own


def colour(k: int) -> str:
    """The colour of a class."""
    colours = cycle()
    return colours[k % len(colours)]


def line_style(k: int) -> str:
    """The style of a class's line: it changes where the colours begin again."""
    return STYLES[k // len(cycle()) % len(STYLES)]


def ink() -> str:
    """The colour of lines and text."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def background() -> str:
    """The colour of the background."""
    import matplotlib as mpl

    return str(mpl.rcParams["axes.facecolor"])


def clear(ax: Axes, *more: str) -> None:
    """Hide lines that carry no information."""
    for side in ("top", "right", *more):
        ax.spines[side].set_visible(False)


def padded(limits: tuple[float, float]) -> tuple[float, float]:
    """The limits with some room around them."""
    room = 0.03 * (limits[1] - limits[0])
    return limits[0] - room, limits[1] + room


def signed(odds: float) -> str:
    """Log odds with their sign."""
    return f"{odds:+.2f}" if math.isfinite(odds) else ("+∞" if odds > 0 else "−∞")


def short(text: Any, most: int) -> str:
    """A name in so many letters; a dollar sign would be read as mathematics."""
    named = str(text)
    named = named if len(named) <= most else named[: most - 1] + "…"
    return named.replace("$", r"\$")


def wrapped(ax: Axes, text: str) -> str:
    """A title or a label in lines that the axes have room for, about twelve letters an inch."""
    inches = ax.get_figure(root=True).get_size_inches()[0] * ax.get_position().width  # type: ignore[union-attr]
    return textwrap.fill(text, max(20, int(12 * inches)))
