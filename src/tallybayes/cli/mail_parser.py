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
        one.add_argument("--config", metavar="FILE", help="configuration file (~/.config/tallybayes/mail.toml)")
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
    parser.add_argument(
        "--spam-from", type=float, metavar="P", help="least probability of spam (as mail train has chosen, else 0.9)"
    )
    parser.add_argument(
        "--ham-below", type=float, metavar="P", help="a message with a lower probability of spam is ham (0.1)"
    )


def _memory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-memory", action="store_true", help="do not remember which messages were learned")


def _socket(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--socket", metavar="FILE", help="the socket of the server (beside the database)")


def _mode(text: str) -> int:
    """Permissions as octal digits."""
    if len(text) not in (3, 4) or not set(text) <= set("01234567"):
        raise argparse.ArgumentTypeError(f"expected permissions such as 600 or 660, got {text!r}")
    return int(text, 8)


def _train(parser: argparse.ArgumentParser) -> None:
    _kinds(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the filter to write (default: the database)")
    parser.add_argument("--replace", action="store_true", help="overwrite an existing filter, memory included")
    parser.add_argument(
        "--max-false-positives", type=float, metavar="SHARE", help="share of ham that may be called spam (0.001)"
    )
    _memory(parser)
    wait(parser)


def _classify(parser: argparse.ArgumentParser) -> None:
    _files(parser)
    _database(parser)
    _thresholds(parser)
    parser.add_argument("--header", action="store_true", help="pass the message on with a header X-Tallybayes")
    parser.add_argument(
        "--autolearn",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="learn messages that the filter is sure of",
    )
    _socket(parser)
    parser.add_argument("--no-server", action="store_true", help="do not ask a server, even if there is one")
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
    _memory(parser)
    wait(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to read many messages with (one a core)")


def wait(parser: argparse.ArgumentParser) -> None:
    """How long a command waits for the lock of the file that it changes."""
    parser.add_argument(
        "--wait", type=float, default=30.0, metavar="S", help="seconds to wait for another process (30)"
    )


def _expire(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="an age in days, weeks, months or years: 90d, 8w, 6m, 1y"
    )
    _database(parser)
    wait(parser)


def _serve(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    _socket(parser)
    parser.add_argument(
        "--socket-mode", type=_mode, default=0o600, metavar="MODE", help="permissions of the socket: who may ask (600)"
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
        "learn labelled messages: all, or of an existing filter those that are new",
        "tallybayes mail train --spam ~/Maildir/.Junk --ham ~/Maildir ~/archive.mbox",
        _train,
    ),
    "classify": (
        "classify messages; the exit code is 0 for spam, 1 for ham, 2 for unsure, 3 for an error",
        "tallybayes mail classify message.eml\n         tallybayes mail classify --header -e < message.eml",
        _classify,
    ),
    "serve": ("answer mail classify over a Unix socket", "tallybayes mail serve", _serve),
    "learn": ("learn more messages, each once", "tallybayes mail learn --spam < message.eml", _change),
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
    "expire": ("take old messages back exactly", "tallybayes mail expire --older-than 1y", _expire),
    "explain": ("show the clues for the verdict on a message", "tallybayes mail explain message.eml", _explain),
    "evaluate": (
        "evaluate the filter on labelled messages",
        "tallybayes mail evaluate --spam test/spam --ham test/ham",
        _evaluate,
    ),
    "top": ("show the strongest tokens of each class", "tallybayes mail top -n 10", _top),
}
