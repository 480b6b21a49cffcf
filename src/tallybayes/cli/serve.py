"""``tallybayes serve``: models over HTTP."""

from __future__ import annotations

import argparse
import gc
import os
import socket
import sys
import warnings
from pathlib import Path

from tallybayes.cli.screen import note
from tallybayes.errors import SettingError
from tallybayes.serve import create_app

VARIABLE = "TALLYBAYES_TOKEN"
LEAST = 16  # characters of a token
SWITCH = 0.0005  # seconds that a thread at work keeps the others waiting: those that answer should not notice


def run(options: argparse.Namespace) -> None:
    """Serve until interrupted."""
    app = create_app(
        options.models,
        learn=options.learn,
        token=_token(options),
        open_to=options.host,
        max_bytes=options.max_bytes,
        max_rows=options.max_rows,
        safe_csv=options.safe_csv,
        drift=options.drift,
    )
    import uvicorn

    from tallybayes.serve.connections import Connection

    _check_free(options.host, options.port)
    warnings.simplefilter("ignore")  # they concern single rows and would flood the log
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # loaded modules and models stay; scanning them again and again would only delay responses
    note(f"serving http://{options.host}:{options.port}/ (API: /docs); stop with Ctrl-C", options)
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level="error" if options.quiet else "warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=10,
        http=Connection,
        ws="none",
    )


def _check_free(host: str, port: int) -> None:
    """Refuse a port that is taken, or an address that is not this machine's, before anything is announced."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server((host, port), family=family):
            pass
    except OSError as error:
        raise SettingError(f"cannot listen on {host}, port {port}: {error.strerror}; choose another --port") from None


def _token(options: argparse.Namespace) -> str | None:
    """The secret: from a file or the environment, never from the list of arguments that others can read."""
    named = options.token_file is not None
    token = Path(options.token_file).read_text(encoding="utf-8").strip() if named else os.environ.get(VARIABLE)
    if token is not None and len(token) < LEAST and (named or token):
        raise SettingError(
            f"the token in {options.token_file or VARIABLE} is too short; use {LEAST} characters or more"
        )
    return token or None
