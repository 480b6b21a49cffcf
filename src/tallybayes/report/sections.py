"""The sections of the page, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tallybayes.core.evaluation import LEAVE_ONE_OUT, Evaluation
from tallybayes.core.schema import amount, plural
from tallybayes.inspection.charts import Bars, ColumnPicture, Concern, EvidenceShape
from tallybayes.report.content import Content
from tallybayes.report.drawings import evidence, importance
from tallybayes.report.parts import breakable, listing, short_name
from tallybayes.report.svg import legend as classes_legend
from tallybayes.report.svg import reliability
from tallybayes.report.tips import tip
from tallybayes.report.whatif import WHAT_IF, drop

PER_PAGE = 12  # pictures that are on the page at first; as in page.js
MOST_PICTURES = 300
MOST_LISTED = 1000  # columns and classes in the tables
MOST_CONFUSED = 12  # classes in the confusion matrix
MOST_CONCERNS = 3  # of a section, that are not folded away
MOST_BARS = 10  # of importance, that are not folded away
MOST_WORDS = 8

OF_COLUMNS = ("leak", "identifier", "dependent")  # warnings that concern columns; the others concern the figures


def lead(report: Content) -> str:
    """The verdict, and what was learned from what."""
    total = sum(report.rows)
    rows = "1 row" if total == 1 else f"{amount(total)} rows"
    used = sum(c.is_evidence for c in report.columns)
    names = [escape(str(label)) for label in report.classes]
    few = f"{', '.join(names[:-1])} or {names[-1]}" if 1 < len(names) <= 6 else plural(len(names), "class")
    what = escape(report.target) if report.target else "the class"
    verdict = "" if report.verdict is None else f'<p class="lead">{escape(report.verdict.text)}</p>'
    where = {"columns": "importance", "figures": "performance"}
    counts = {kind: len(_concerns_of(report, kind)) for kind in where}
    links = [f'<a href="#{where[k]}">{plural(n, "warning")} about the {k}</a>' for k, n in counts.items() if n]
    warned = f" There {'is' if sum(counts.values()) == 1 else 'are'} {' and '.join(links)}." if links else ""
    return (
        f'{verdict}<p class="soft">Trained on {rows} and {plural(used, "column")} to predict {what}: {few}.{warned}</p>'
    )


def sections(report: Content, service: str | None) -> Iterator[tuple[str, str, str]]:
    """The name, the title and the content of each section."""
    yield "importance", "Importance", _importance(report)
    if report.scorer is not None:
        yield "what-if", "What if", WHAT_IF
    elif len(report.classes) > 1:
        yield (
            "what-if",
            "What if",
            "<p>The model is too large for a page; use <code>tallybayes serve</code>.</p>",
        )
    if service is not None:
        yield "file", "Score a file", drop(service, report.target)
    yield "performance", "Performance", _performance(report)
    yield from report.more
    if report.shapes or report.pictures:
        yield "columns", "Columns", _columns(report)
    if any(report.class_profiles.values()):
        yield "profiles", "Class profiles", _profiles(report)
    yield "training-data", "Training data", _training_data(report)


def _concerns_of(report: Content, kind: str) -> list[Concern]:
    return [c for c in report.concerns if (c.kind in OF_COLUMNS) == (kind == "columns")]


def _concerns(found: Sequence[Concern]) -> str:
    if not found:
        return ""
    items = [f"<li>{escape(c.text)}</li>" for c in found]
    first, rest = "".join(items[:MOST_CONCERNS]), items[MOST_CONCERNS:]
    more = f'<ul class="concerns">{"".join(rest)}</ul>'
    more = f"<details><summary>{plural(len(rest), 'more warning')}</summary>{more}</details>" if rest else ""
    return f'<ul class="concerns" aria-label="Warnings">{first}</ul>{more}'


# ------------------------------------------------------------------------------------------ importance


def _importance(report: Content) -> str:
    found, warned = report.importance, _concerns(_concerns_of(report, "columns"))
    if not found.columns:
        return f"{warned}<p>No column is evidence for any class.</p>{_unused(report)}"
    top = max(each.high for each in found.columns)
    top = min(top, 2.0 * max(each.value for each in found.columns))  # one wide interval should not flatten all bars
    lines = [
        f'<tr><th scope="row">{short_name(each.column, 80)}</th><td class="bar-cell">'
        f'{importance(each, top)}</td><td class="n">{each.value:.2f}</td></tr>'
        for each in found.columns[:MOST_LISTED]
    ]
    head = (
        f'<div class="para">How much each column moves a prediction on average.{tip("importance")}</div>'
        '<table class="bars"><caption class="skip">importance of each column</caption><tbody>'
    )
    rest = lines[MOST_BARS:]
    more = (
        f"<details><summary>{plural(len(rest), 'more column')}</summary>"
        f'<table class="bars"><tbody>{"".join(rest)}</tbody></table></details>'
        if rest
        else ""
    )
    return f"{head}{''.join(lines[:MOST_BARS])}</tbody></table>{more}{_unused(report)}{warned}"


def _unused(report: Content) -> str:
    unused = report.importance.unused[:MOST_LISTED]
    if not unused:
        return ""
    items = "".join(f"<li>{escape(each.column)} <small>{escape(each.why)}</small></li>" for each in unused)
    names = ", ".join(escape(each.column) for each in unused[:5])
    more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
    return f'<details class="unused"><summary>Not used: {names}{more}</summary><ul>{items}</ul></details>'


# ------------------------------------------------------------------------------------------ performance


def _performance(report: Content) -> str:
    evaluation, warned = report.evaluation, _concerns(_concerns_of(report, "figures"))
    if evaluation is None:
        return (
            f"{warned}<p>Not evaluated: a model file does not contain the rows. "
            "<code>tallybayes report --data FILE</code> evaluates it on the training data or on other rows.</p>"
        )
    how = " Each row is scored by the model without it." if evaluation.method == LEAVE_ONE_OUT else ""
    wide = " wide" if len(evaluation.classes) > 6 else ""
    *_, line = evaluation.lines(report.n_learned if evaluation.n_learned else None)
    return (
        f"{warned}<p>{escape(line[:1].upper() + line[1:])}.{how} The intervals cover 95&nbsp;%.</p>"
        f'<dl class="facts">{"".join(_facts(evaluation))}</dl>{_threshold(evaluation)}<div class="two{wide}"><div>'
        f"<h3>Confusion matrix{tip('confusion')}</h3>{_confusion(evaluation)}</div>"
        f"<div><h3>Calibration{tip('calibration')}</h3>{reliability(evaluation)}"
        '<p class="under">Accuracy by confidence. Larger dots are more rows.</p></div></div>'
        f"<h3>By class</h3>{_per_class(evaluation)}"
    )


def _facts(evaluation: Evaluation) -> Iterator[str]:
    accuracy, loss = evaluation.accuracy, evaluation.log_loss
    guess = f"always the most frequent class: {evaluation.baseline_accuracy:.1%}"
    yield _fact("accuracy", f"{float(accuracy):.1%}", f"{accuracy.low:.1%} to {accuracy.high:.1%}", guess)
    shares = f"only the class shares: {evaluation.baseline_log_loss:.3f}"
    yield _fact("log loss", f"{float(loss):.3f}", f"{loss.low:.3f} to {loss.high:.3f}", shares)
    if len(evaluation.rankings) == 1:
        yield _fact("ranking", f"{evaluation.rankings[0].area:.3f}", "area under the ROC curve")
    else:
        yield _fact("macro F1", f"{evaluation.macro_f1:.3f}", f"balanced accuracy {evaluation.balanced_accuracy:.1%}")
    yield _fact("calibration error", f"{evaluation.ece:.3f}", f"Brier score {float(evaluation.brier):.3f}")
    if evaluation.sets is not None:
        sets = evaluation.sets
        yield _fact("prediction sets", f"{sets.covered:.1%}", f"contain the right class; {sets.asked:.0%} asked for",
                    f"{sets.size:.2f} classes on average")  # fmt: skip


def _fact(name: str, value: str, *notes: str) -> str:
    listed = "".join(f"<small>{escape(note)}</small>" for note in notes)
    return f"<div><dt>{name}{tip(name)}</dt><dd>{value}{listed}</dd></div>"


def _threshold(evaluation: Evaluation) -> str:
    """The slider that moves threshold, table and cost together; it needs the script and is empty without."""
    if not evaluation.rankings:
        return ""
    return (
        f'<div id="decide" class="decide screen" hidden><h3>Threshold and cost{tip("threshold")}</h3>'
        '<p class="row"><label for="decide-class">predict</label> <select id="decide-class"></select>'
        '<label for="decide-at">if its probability is at least</label>'
        '<input type="range" id="decide-at" min="0" max="100" step="0.5" value="50">'
        '<output id="decide-value" for="decide-at"></output></p>'
        '<p class="row"><label for="decide-missed">cost of a missed row</label>'
        '<input type="number" id="decide-missed" min="0" step="any" value="1">'
        '<label for="decide-false">cost of a false alarm</label>'
        '<input type="number" id="decide-false" min="0" step="any" value="1">'
        '<button type="button" id="decide-best">cheapest threshold</button></p>'
        '<div class="two"><div id="decide-table" aria-live="polite"></div><div id="decide-curve"></div></div></div>'
    )


def _confusion(evaluation: Evaluation) -> str:
    kept, table, support = evaluation.confusion_of(MOST_CONFUSED)
    names = [short_name(label) for label in kept]
    tilted = ' class="tilted"' if len(kept) > 3 and max(len(str(label)) for label in kept) > 6 else ""
    head = "".join(f'<th scope="col"{tilted}>{name}</th>' for name in names)
    lines = []
    for name, row, total in zip(names, table, support, strict=True):
        shades = [0 if not weight else min(4, 1 + int(4 * weight / total)) for weight in row]
        cells = "".join(f'<td class="s{s}">{amount(weight)}</td>' for s, weight in zip(shades, row, strict=True))
        lines.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    more = len(evaluation.classes) - len(kept)
    note = f"<p>The {len(kept)} most frequent classes; {plural(more, 'other')} not shown.</p>" if more else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="confusion matrix"><table class="confusion"><tr>'
        f"<td></td>{head}</tr>{''.join(lines)}</table></div>{note}"
    )


def _per_class(evaluation: Evaluation) -> str:
    each = zip(
        evaluation.classes, evaluation.precision, evaluation.recall, evaluation.f1, evaluation.support, strict=True
    )
    rows = [
        (str(label), f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", amount(s)) for label, p, r, f, s in list(each)[:MOST_LISTED]
    ]
    return listing("figures by class", ("class", "precision", "recall", "F1", "rows"), rows)


# ------------------------------------------------------------------------------------------ columns


def _columns(report: Content) -> str:
    drawn = {shape.column for shape in report.shapes}
    words = [p for p in report.pictures if p.column not in drawn and isinstance(p.shape, Bars) and p.shape.words]
    unused = {each.column for each in report.importance.unused}
    cards = [_words(picture) for picture in words]
    shapes = [shape for shape in report.shapes if shape.log_odds.any()]
    cards += [_card(shape, shape.column in unused) for shape in shapes[:MOST_PICTURES]]
    rest, left = "".join(cards[PER_PAGE:]), len(shapes) - MOST_PICTURES
    beyond = f"<p>{plural(left, 'column')} of less importance are not drawn.</p>" if left > 0 else ""
    legend, what = _legend(report)
    return (
        f'<div class="para">{what} The most important columns come first.{tip("evidence")}</div>{legend}'
        f'<div class="grid" id="pictures">{"".join(cards[:PER_PAGE])}</div>'
        f'<template id="more-pictures">{rest}</template><div class="pager" id="pictures-pager"></div>{beyond}'
    )


def _legend(report: Content) -> tuple[str, str]:
    if not report.shapes:
        return "", "The words that tell the classes apart."
    shape = report.shapes[0]
    if shape.against is not None:
        mine, theirs = escape(str(shape.classes[0])), escape(str(shape.against))
        return "", f"The evidence of each value for {mine} against {theirs}."
    more = len(report.classes) - len(shape.classes)
    note = f" Only the {len(shape.classes)} most frequent classes are drawn." if more else ""
    return classes_legend(shape.classes), f"The evidence of each value for each class against the others.{note}"


def _card(shape: EvidenceShape, unused: bool) -> str:
    facts = ["not used"] if unused else [f"importance {shape.importance:.2f}"]
    facts += [f"{shape.missing:.1%} missing"] if shape.missing >= 0.0005 and shape.kind != "pair" else []
    facts += ["what both values say beyond each alone"] if shape.kind == "pair" else []
    facts += ["no interval known"] if shape.log_odds.any() and not shape.spread.any() else []
    grey = " unused" if unused else ""
    return (
        f'<article class="card{grey}"><h3>{breakable(shape.column)}</h3><p class="soft">{escape(", ".join(facts))}</p>'
        f"{evidence(shape)}</article>"
    )


def _words(picture: ColumnPicture) -> str:
    """The words of a text that tell the classes apart, each with the class that uses it most."""
    assert isinstance(picture.shape, Bars)
    best = picture.shape.chance.argmax(axis=0)
    by_class: dict[int, list[str]] = {}
    for word, k in zip(picture.shape.levels, best.tolist(), strict=True):
        by_class.setdefault(k, []).append(word)
    lines = "".join(
        f"<li><b>{escape(str(picture.classes[k]))}</b> {escape(', '.join(words[:MOST_WORDS]))}</li>"
        for k, words in sorted(by_class.items())[:MOST_WORDS]
    )
    what = "words" if picture.kind == "text" else "values"
    return (
        f'<article class="card"><h3>{escape(picture.column)}</h3><p class="soft">{what} that tell the classes apart</p>'
        f'<ul class="marks">{lines}</ul></article>'
    )


def _profiles(report: Content) -> str:
    cards = []
    for label, entries in list(report.class_profiles.items())[:60]:
        listed = "".join(f"<li>{escape(entry.text)}</li>" for entry in entries) or "<li>no characteristic value</li>"
        cards.append(f'<article class="card"><h3>{escape(str(label))}</h3><ul class="marks">{listed}</ul></article>')
    return f'<p>Values that are more frequent in a class than in others.</p><div class="grid">{"".join(cards)}</div>'


def _training_data(report: Content) -> str:
    total = sum(report.rows) or 1.0
    classes = [
        (str(label), amount(weight), f"{weight / total:.1%}", f"{p:.4f}")
        for label, weight, p in list(zip(report.classes, report.rows, report.prior, strict=True))[:MOST_LISTED]
    ]
    by_name = {picture.column: picture for picture in report.pictures}
    strength = {each.column: each.value for each in report.importance.columns}
    columns = []
    for column in list(report.columns)[:MOST_LISTED]:
        found = by_name.get(column.name)
        missing = f"{found.missing:.1%}" if found is not None and found.kind != "pair" else ""
        shown = f"{strength[column.name]:.3f}" if column.name in strength else ""
        columns.append((column.name, column.kind, column.reason, missing, shown))
    more = len(report.columns) - len(columns)
    note = f"<p>{plural(more, 'column')} more.</p>" if more > 0 else ""
    head = ("column", "kind", "reason", "missing", "importance")
    settings = listing("settings", ("setting", "value"), list(report.settings.items()), numbers=0)
    return (
        f"<p>{plural(report.n_parameters, 'estimated parameter')}.</p><h3>Classes{tip('prior')}</h3>"
        f"{listing('classes', ('class', 'rows', 'share', 'prior'), classes)}<h3>Columns</h3>"
        f"{listing('columns that were read', head, columns, numbers=2)}{note}"
        f"<details><summary>Settings</summary>{settings}</details>"
    )
