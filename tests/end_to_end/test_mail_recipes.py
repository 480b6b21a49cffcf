"""The recipes under examples/mail as the programs run them that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tallybayes.mail import database
from tallybayes.mail.config import Config
from tests.end_to_end.test_demo import COMMAND, terminal
from tests.end_to_end.test_mail import NEW_HAM, NEW_SPAM, home, own  # noqa: F401  fixtures

RECIPES = Path(__file__).parents[2] / "examples" / "mail"
# Dovecot refuses to deliver to root, who may call itself somebody else.
AS_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.getuid() == 0 else []
USER, GROUP = (1000, 1000) if AS_USER else (os.getuid(), os.getgid())
needs_sieve = pytest.mark.skipif(
    shutil.which("sieve-test") is None and os.environ.get("CI") != "true", reason="dovecot-sieve is not installed"
)


@pytest.fixture
def site(own: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A directory with the programs of the recipes, and the command that they call."""
    place = tmp_path / "sieve"
    shutil.copytree(RECIPES, place)
    command = " ".join(COMMAND) if len(COMMAND) == 1 else f"{sys.executable} -m tallybayes.cli"
    (place / "tallybayes").write_text(f'#!/bin/sh\nexport TALLYBAYES_MAIL="{own}"\nexec {command} "$@"\n')
    (place / "tallybayes").chmod(0o755)
    for name in ("tallybayes-classify", "tallybayes-learn"):  # Dovecot gives programs no PATH
        text = (place / name).read_text()
        (place / name).write_text(text.replace("exec tallybayes", f"exec {place}/tallybayes"))
    (place / "dovecot.conf").write_text(
        f"mail_location = maildir:{tmp_path}/Maildir\nfirst_valid_uid = 0\nfirst_valid_gid = 0\n"
        f"mail_uid = {USER}\nmail_gid = {GROUP}\nplugin {{\n"
        f"  sieve_plugins = sieve_extprograms sieve_imapsieve\n"
        f"  sieve_extensions = +vnd.dovecot.filter +vnd.dovecot.pipe +imapsieve\n"
        f"  sieve_filter_bin_dir = {place}\n  sieve_pipe_bin_dir = {place}\n  sieve_filter_exec_timeout = 60s\n}}\n"
    )
    return place


def sieve(site: Path, program: str, *arguments: str | Path) -> str:
    command = [*AS_USER, program, "-c", site / "dovecot.conf", *arguments]
    found = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


@needs_sieve
@pytest.mark.parametrize("name", ["tallybayes.sieve", "learn-spam.sieve", "learn-ham.sieve"])
def test_the_scripts_compile(site: Path, name: str) -> None:
    sieve(site, "sievec", "-x", "+vnd.dovecot.filter +vnd.dovecot.pipe +imapsieve", site / name, site / "out.svbin")
    assert (site / "out.svbin").stat().st_size


@needs_sieve
@pytest.mark.parametrize(("raw", "folder"), [(NEW_SPAM, "Junk"), (NEW_HAM, "INBOX")])
def test_sieve_sorts_mail_by_the_verdict(site: Path, raw: bytes, folder: str) -> None:
    (site / "new.eml").write_bytes(raw)
    extensions = "+vnd.dovecot.filter +vnd.dovecot.pipe"
    printed = sieve(site, "sieve-test", "-x", extensions, "-e", "-t", "-", site / "tallybayes.sieve", site / "new.eml")
    assert f"stored mail into mailbox '{folder}'" in printed


@pytest.mark.parametrize(("flag", "want"), [("--spam", [60, 61]), ("--ham", [61, 60])])
def test_the_program_that_learns_what_was_moved(site: Path, own: Path, flag: str, want: list[int]) -> None:  # noqa: F811
    for _ in range(2):  # a message that is moved twice counts once
        subprocess.run([site / "tallybayes-learn", flag], input=NEW_SPAM, check=True, env=terminal())
    assert database.read(own).tally.class_weight.tolist() == want


def test_the_configuration_file_is_one() -> None:
    found = Config.read(RECIPES / "mail.toml")
    assert (found.header, found.max_false_positives, found.autolearn) == ("X-Tallybayes", 0.001, False)


@pytest.mark.parametrize("name", ["tallybayes-classify", "tallybayes-learn", "tallybayes-postfix"])
def test_the_programs_are_shell_scripts(name: str) -> None:
    assert os.access(RECIPES / name, os.X_OK)
    subprocess.run(["sh", "-n", RECIPES / name], check=True)
