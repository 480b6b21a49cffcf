"""The configuration file of the filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallybayes.errors import SettingError
from tallybayes.mail.config import Config, user_path


def test_there_need_not_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYBAYES_MAIL_CONFIG", str(tmp_path / "none.toml"))
    assert Config.read() == Config()
    monkeypatch.delenv("TALLYBAYES_MAIL_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_path() == str(tmp_path / "tallybayes" / "mail.toml")


def test_what_it_sets(tmp_path: Path) -> None:
    path = tmp_path / "mail.toml"
    path.write_text('header = "X-Spam-Bayes"\nspam_from = 0.99\nautolearn = true\ndatabase = "~/x.tally"\n')
    found = Config.read(path)
    assert (found.header, found.spam_from, found.autolearn) == ("X-Spam-Bayes", 0.99, True)
    assert found.database is not None
    assert not found.database.startswith("~")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spam_form = 0.9", "sets 'spam_form', which does not exist; there are database"),
        ("spam_from = 2", "sets spam_from to 2, which it cannot be"),
        ("spam_from = true", "which it cannot be"),
        ('header = "Subject"', "begins with X-Tallybayes, X-Spam or X-Bogosity"),
        ('header = "X-Spam: yes\\nX-Evil"', "begins with X-Tallybayes"),
        ("autolearn_ham = 0.9999", "sets autolearn_ham above autolearn_spam"),
        ("autolearn = 1", "which it cannot be"),
        ("= nonsense", "is not TOML"),
    ],
)
def test_what_it_cannot_set(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mail.toml").write_text(text)
    with pytest.raises(SettingError, match=message):
        Config.read(tmp_path / "mail.toml")
