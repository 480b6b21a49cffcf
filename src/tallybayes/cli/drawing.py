"""Charts of a prediction in characters: a waterfall from the prior to the posterior, for any terminal."""

from __future__ import annotations

import math

from rich.text import Text

from tallybayes.cli.screen import Screen
from tallybayes.core.schema import Level
from tallybayes.inspection.explain import Evidence, Explanation, shown

EIGHTHS = " ▏▎▍▌▋▊▉█"
LEAST = 24  # characters of a chart, however narrow the terminal
FOR, AGAINST = "blue", "yellow"  # safe for colour-vision deficiency, on light and on dark backgrounds


def waterfall(explanation: Explanation, screen: Screen, most: int = 15) -> None:
    """Draw the log odds that each column adds, each bar beginning where the last one ended.

    Of many columns the ``most`` strongest are drawn; the rest is summed up.
    """
    steps = [("prior", explanation.prior), *((_named(e), e.log_odds) for e in explanation.evidence if e.log_odds)]
    if len(steps) > most + 1:
        rest = steps[most + 1 :]
        steps = [*steps[: most + 1], (f"{len(rest)} others", math.fsum(odds for _, odds in rest))]
    wide = min(max(len(name) for name, _ in steps), 34)
    room = max(LEAST, min(screen.width, 100) - wide - 12)
    ends = [0.0]
    for _, odds in steps:
        ends.append(ends[-1] + (odds if math.isfinite(odds) else 0.0))
    low, high = min(ends), max(ends)
    scale = (room - 1) / ((high - low) or 1.0)
    screen.print(f"log odds of {explanation.label} against {explanation.against}", markup=False)
    for (name, odds), start, end in zip(steps, ends, ends[1:], strict=False):
        a, b = sorted(((start - low) * scale, (end - low) * scale))
        drawn = bar(a, b) if odds > 0 else " " * round(a) + "░" * max(1, round(b) - round(a))
        drawn = drawn if math.isfinite(odds) else ("+∞" if odds > 0 else "−∞").rjust(room)
        line = Text(f"  {name[:wide]:{wide}} {odds + 0.0:+8.3f} ")
        line.append(drawn, style=FOR if odds > 0 else AGAINST)
        screen.print(line)
    zero = round((0.0 - low) * scale)
    screen.print(Text(f"  {'':{wide}} {'':8} {' ' * zero}╵ 0"))
    chances(explanation.posterior, screen)


def chances(posterior: dict[Level, float], screen: Screen, most: int = 8) -> None:
    """Draw the probability of each class, the likeliest first."""
    ranked = sorted(posterior.items(), key=lambda each: -each[1])[:most]
    wide = min(max(len(str(label)) for label, _ in ranked), 34)
    room = max(LEAST, min(screen.width, 100) - wide - 12)
    for label, p in ranked:
        line = Text(f"  {str(label)[:wide]:{wide}} {p:8.4f} ")
        line.append(bar(0.0, p * room) if p * room >= 1 / 16 else "", style=FOR)
        screen.print(line)


def bar(start: float, end: float) -> str:
    """A bar from one place to another; its right end is drawn in eighths of a character."""
    first = round(start)
    full, part = divmod(max(1, round(8 * (end - first))), 8)
    return " " * first + "█" * full + EIGHTHS[part].strip()


def _named(evidence: Evidence) -> str:
    return f"{evidence.column} = {shown(evidence.value)}"
