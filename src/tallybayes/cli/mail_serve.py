"""``tallybayes mail serve``: verdicts over a Unix socket."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import Any

from tallybayes.cli.mail_common import config_of, database_of, note
from tallybayes.cli.wording import shown
from tallybayes.mail.paths import socket_path
from tallybayes.mail.serve import listening


def serve(options: argparse.Namespace) -> None:
    """Answer clients until the process is ended."""
    config = config_of(options)
    database = os.path.realpath(database_of(options, config))
    path = options.socket or config.socket or socket_path(database)

    def log(text: str) -> None:
        print(f"tallybayes: {shown(text)}", file=sys.stderr, flush=True)

    with listening(database, path, options.socket_mode, log) as server:

        def end(signal_number: int, frame: Any) -> None:
            server.listener.close()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        note(f"listening at {path}", options)
        server.serve()


COMMANDS = {"serve": serve}
