"""``tallybayes ledger``: create, add, model, forget, verify and show."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from tallybayes import storage
from tallybayes.cli.screen import beside, console, note, notes, print_json, progress
from tallybayes.core.schema import plural
from tallybayes.errors import DataError, LedgerError, SettingError
from tallybayes.storage.ledger import Ledger, LedgerReceipt


def run(options: argparse.Namespace) -> int | None:
    """Run the command."""
    commands: dict[str, Any] = {
        "create": create, "add": add, "model": model, "forget": forget, "verify": verify, "show": show,
    }  # fmt: skip
    return commands[options.ledger_command](options)


def create(options: argparse.Namespace) -> None:
    """Create a ledger."""
    half_lives, windows = (_lengths(getattr(options, name), name) for name in ("half_lives", "windows"))
    plan = options.model
    with Ledger.create(options.ledger, plan, period=options.unit, half_lives=half_lives, windows=windows) as ledger:
        _print_overview(ledger.overview(), options)


def add(options: argparse.Namespace) -> None:
    """Add files."""
    if options.key_column is not None and options.period_column is None:
        raise SettingError("--key-column needs --period-column; give --key for rows of one key")
    if options.batch_id is not None and len(options.data) > 1:
        raise SettingError("--batch-id is the id of one file; add several without it, or one by one")
    if options.period_column is not None and (options.target or options.weight or options.unlabelled != "error"):
        raise SettingError(
            "--period-column reads labels as the plan does; it goes without --target, --weight and --unlabelled"
        )
    receipts: list[LedgerReceipt] = []
    with Ledger.open(options.ledger, wait=options.wait) as ledger, notes(options):
        for path in options.data:
            if options.period_column is not None:
                columns = {"period": options.period_column, "key": options.key_column}
                receipts += ledger.add_by(path, **columns, batch_id=options.batch_id)
            else:
                receipts.append(
                    ledger.add(
                        path,
                        options.target,
                        period=options.period,
                        key=options.key,
                        batch_id=options.batch_id,
                        weight=options.weight,
                        unlabelled=options.unlabelled,
                    )
                )
    if options.json:
        print_json([receipt.as_dict() for receipt in receipts])
        return
    new = [receipt for receipt in receipts if receipt.is_new]
    if len(receipts) == 1:
        console().print(str(receipts[0]))
    else:
        again = len(receipts) - len(new)
        known = f"; {again:,} batches were added before and count once" if again else ""
        rows = sum(receipt.rows for receipt in new)
        console().print(f"added: {rows:,} rows in {len(new):,} batches{known}\nchain {receipts[-1].chain}")


def model(options: argparse.Namespace) -> None:
    """Write the model of a slice."""
    with Ledger.open(options.ledger) as ledger:
        as_of = (
            int(options.as_of)
            if options.as_of is not None and len(options.as_of) < 8 and options.as_of.isdecimal()
            else options.as_of
        )
        found = ledger.model(
            since=options.since, until=options.until, keys=options.keys, without=options.without,
            window=_length(options.window, "window"), half_life=_length(options.half_life, "half_life"), as_of=as_of,
        )  # fmt: skip
    storage.write(found, options.output)
    note(f"written to {options.output}", options)
    record = {"rows": found.provenance.rows, "tally": repr(found.tally)}
    with beside(options):
        if options.json:
            print_json(record)
        else:
            console().print(record["tally"])


def forget(options: argparse.Namespace) -> None:
    """Forget a key."""
    with Ledger.open(options.ledger, wait=options.wait) as ledger:
        receipt = ledger.forget(options.key)
    if options.json:
        print_json(receipt.as_dict())
    else:
        console().print(str(receipt))


def verify(options: argparse.Namespace) -> int:
    """Verify a ledger."""
    receipt = None if options.receipt is None else _receipt(options.receipt)
    with Ledger.open(options.ledger) as ledger, progress(options, "reading the file") as bar:
        found = ledger.verify(receipt, None if bar is None else bar.phase)
    if options.json:
        print_json(found.as_dict())
    else:
        console().print(str(found))
    return 0 if found.is_sound else 1


def show(options: argparse.Namespace) -> None:
    """Print what a ledger holds."""
    with Ledger.open(options.ledger) as ledger:
        record = ledger.overview()
        if options.keys:
            record["names"] = ledger.keys()
        if options.entries:
            record["receipts"] = [each.as_dict() for each in ledger.receipts()[-max(options.entries, 1) :]]
    _print_overview(record, options)


def _print_overview(record: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print_json(record)
        return
    periods = "" if record["first"] is None else f", {record['unit']}s {record['first']} to {record['last']}"
    lines = [
        f"{record['path']}: {plural(record['rows'], 'row')} in {plural(record['batches'], 'batch')}",
        f"{plural(record['keys'], 'key')}{periods}",
        f"plan: {plural(record['columns'], 'column')}, target {record['target']}; "
        f"{plural(record['entries'], 'entry')}, {plural(record['forgotten'], 'key')} forgotten",
        f"head {record['head']}",
        *record.get("names", []),
    ]
    for each in record.get("receipts", []):
        period = each["period"] or "-"
        lines.append(
            f"{each['number']:>8}  {each['time']}  {each['action']:6}  {each['rows']:>8,} rows  {period}  {each['key']}"
        )
    console().print("\n".join(lines))


def _lengths(text: str | None, what: str) -> Any:
    if text is None or text == "auto":
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{what} must be 'auto' or numbers with commas between them, not {text!r}") from None


def _length(text: str | None, what: str) -> Any:
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise LedgerError(f"{what} must be a number of periods or auto, not {text!r}") from None


def _receipt(text: str) -> Any:
    """A receipt from a file, or a hash as it is."""
    if not os.path.isfile(text):
        return text
    try:
        with open(text, encoding="utf-8") as file:
            found = json.load(file)
    except (ValueError, RecursionError):
        raise DataError(f"{text} is no receipt: it is not JSON") from None
    if isinstance(found, list) and found:
        found = found[-1]
    if not isinstance(found, dict) or "chain" not in found:
        raise DataError(f"{text} is no receipt: it has no chain")
    return found
