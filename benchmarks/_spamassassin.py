"""The Bayes filter of SpamAssassin (Debian: apt install spamassassin), alone and without any of its other rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

# A verdict of its own it has none: BAYES_99 and BAYES_00 are the rules at both ends. What lies between is unsure.
SPAM_FROM, HAM_BELOW = 0.99, 0.01

RULES = """\
loadplugin Mail::SpamAssassin::Plugin::Check
loadplugin Mail::SpamAssassin::Plugin::Bayes
use_bayes 1
bayes_auto_learn 0
bayes_auto_expire 0
body BAYES_ANY eval:check_bayes('0.00', '1.00')
tflags BAYES_ANY learn
score BAYES_ANY 0.1
"""

SCORE = """\
use strict; use warnings; use Mail::SpamAssassin;
my ($rules, $site, $prefs) = @ARGV;
my $filter = Mail::SpamAssassin->new({ rules_filename => $rules, site_rules_filename => $site,
    userprefs_filename => $prefs, local_tests_only => 1, dont_copy_prefs => 1 });
while (my $file = <STDIN>) {
    chomp $file;
    open(my $in, '<:raw', $file) or die $file;
    my $text = do { local $/; <$in> };
    my $message = $filter->parse($text);
    my $status = $filter->check($message);
    printf "%s\\t%s\\n", $file, $status->{bayes_score} // 0.5;
    $status->finish; $message->finish;
}
"""


def is_there() -> bool:
    """Whether it is installed."""
    return shutil.which("sa-learn") is not None and shutil.which("perl") is not None


def train(root: Path, spam: str, ham: str) -> None:
    """Learn files, one a line, into a new database."""
    place = _place(root)
    shutil.rmtree(place, ignore_errors=True)
    for name in ("rules", "site", "db"):
        (place / name).mkdir(parents=True)
    (place / "rules" / "bayes.cf").write_text(RULES)
    (place / "prefs").write_text(f"bayes_path {place}/db/bayes\n")
    (place / "score.pl").write_text(SCORE)
    for kind, files in (("--spam", spam), ("--ham", ham)):
        (place / "files").write_text(files)
        settings = ["-C", f"{place}/rules", f"--siteconfigpath={place}/site", "-p", f"{place}/prefs"]
        subprocess.run(["sa-learn", *settings, kind, "-f", f"{place}/files"], capture_output=True, check=True)


def classify(root: Path, files: str) -> dict[str, tuple[str, float]]:
    """The verdict and the probability of spam of files, one a line; by one process, as spamd does."""
    place = _place(root)
    command = ["perl", f"{place}/score.pl", f"{place}/rules", f"{place}/site", f"{place}/prefs"]
    printed = subprocess.run(command, input=files + "\n", capture_output=True, text=True, check=True).stdout
    found = {}
    for line in printed.splitlines():
        name, p = line.rsplit("\t", 1)
        label = "spam" if float(p) >= SPAM_FROM else "ham" if float(p) < HAM_BELOW else "unsure"
        found[Path(name).name] = (label, float(p))
    return found


def size(root: Path) -> int:
    """Bytes of the database."""
    return sum(path.stat().st_size for path in (_place(root) / "db").iterdir())


def _place(root: Path) -> Path:
    return root / "spamassassin-bayes"
