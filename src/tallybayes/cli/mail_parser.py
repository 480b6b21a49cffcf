"""The commands and options of ``tallybayes mail``."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def fill(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the spam filter."""
    commands = parser.add_subparsers(dest="mail_command", metavar="COMMAND", required=True)
    for name, (summary, example, options) in COMMANDS.items():
        one = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        options(one)
        one.add_argument("--quiet", "-q", action="store_true", help="print no notes")
        one.add_argument("--json", action="store_true", help="print the record as JSON")
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-d",
        "--database",
        metavar="FILE",
        help="the filter ($TALLYBAYES_MAIL, or ~/.local/share/tallybayes/mail.tally)",
    )


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", default=["-"], metavar="FILE",
        help="messages, mboxes, Maildirs or directories of messages; - or none for the standard input",
    )  # fmt: skip


def _kinds(parser: argparse.ArgumentParser) -> None:
    for kind in ("spam", "ham"):
        parser.add_argument(
            f"--{kind}",
            nargs="+",
            required=True,
            metavar="PATH",
            help=f"{kind}: directories, mboxes, Maildirs or files",
        )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to read with (one a core)")


def _thresholds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spam-from", type=float, default=0.9, metavar="P", help="least probability of spam (0.9)")
    parser.add_argument(
        "--ham-below",
        type=float,
        default=0.1,
        metavar="P",
        help="a message with a lower probability of spam is ham (0.1)",
    )


def _train(parser: argparse.ArgumentParser) -> None:
    _kinds(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the filter to write (default: the database)")
    parser.add_argument("--replace", action="store_true", help="overwrite an existing filter")
    wait(parser)


def _classify(parser: argparse.ArgumentParser) -> None:
    _files(parser)
    _database(parser)
    _thresholds(parser)
    parser.add_argument("--header", action="store_true", help="pass the message on with a header X-Tallybayes")
    parser.add_argument(
        "-e", "--exit-zero", action="store_true", help="exit with 0 for every verdict, as procmail requires of filters"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to read many messages with (one a core)")


def _change(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    for kind in ("spam", "ham"):
        which.add_argument(f"--{kind}", dest="label", action="store_const", const=kind, help=f"the messages are {kind}")
    _files(parser)
    _database(parser)
    wait(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to read many messages with (one a core)")


def wait(parser: argparse.ArgumentParser) -> None:
    """How long a command waits for the lock of the file that it changes."""
    parser.add_argument(
        "--wait", type=float, default=30.0, metavar="S", help="seconds to wait for another process (30)"
    )


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="a message; - or none for the standard input"
    )
    _database(parser)
    _thresholds(parser)


def _evaluate(parser: argparse.ArgumentParser) -> None:
    _kinds(parser)
    _database(parser)
    _thresholds(parser)


def _top(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=int, default=20, metavar="N", help="tokens of each class (20)")
    _database(parser)


COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "train": (
        "learn labelled messages and write a new filter",
        "tallybayes mail train --spam ~/Maildir/.Junk --ham ~/Maildir ~/archive.mbox",
        _train,
    ),
    "classify": (
        "classify messages; the exit code is 0 for spam, 1 for ham, 2 for unsure, 3 for an error",
        "tallybayes mail classify message.eml\n         tallybayes mail classify --header -e < message.eml",
        _classify,
    ),
    "learn": ("learn more messages", "tallybayes mail learn --spam < message.eml", _change),
    "unlearn": (
        "unlearn messages exactly",
        "tallybayes mail unlearn --spam message.eml",
        _change,
    ),
    "move": (
        "move messages that were learned as the other class",
        "tallybayes mail move --ham newsletter.eml",
        _change,
    ),
    "explain": ("show the clues for the verdict on a message", "tallybayes mail explain message.eml", _explain),
    "evaluate": (
        "evaluate the filter on labelled messages",
        "tallybayes mail evaluate --spam test/spam --ham test/ham",
        _evaluate,
    ),
    "top": ("show the strongest tokens of each class", "tallybayes mail top -n 10", _top),
}
