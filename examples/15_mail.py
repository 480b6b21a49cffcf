"""A spam filter: messages to tokens, clues, a correction, and a delivery that loses nothing."""

import tempfile
from pathlib import Path

from tallybayes.data import datasets
from tallybayes.mail import database, filter, ledger, message, training
from tallybayes.mail.boxes import places
from tallybayes.mail.identity import identify

# Twelve messages of each kind, made up; your own are Maildirs, mboxes or directories of files.
spam, ham = ([message.document(p.read()) for p in places([datasets.mailbox(kind)])] for kind in ("spam", "ham"))
model, held_out = training.train(ham, spam)
print(f"leave-one-out:\n{held_out}")

letter = b"From: Anna <anna@reading.example.org>\nSubject: A free evening?\n\nShall we read the next chapter?\n"
tokens = message.document(letter)
case = filter.explain(model, tokens)
print(f"\n{case.verdict}, because of")
for clue in case.clues[:6]:
    print(f"  {clue.token:28} {clue.log_odds:+.2f}  in {clue.spam:.0f} spam, {clue.ham:.0f} ham")

# It was learned as spam by mistake: moving it is forgetting it there and learning it here, exactly.
wrong = filter.learn(model, [tokens], "spam")
right = filter.learn(filter.unlearn(wrong, [tokens], "spam"), [tokens], "ham")
print("\nafter the mistake:  ", *filter.classify(wrong, [tokens]))
print("after the correction:", *filter.classify(right, [tokens]))

# On disk it is a model file and a memory of its messages, changed under a lock: learning twice counts once.
path = Path(tempfile.mkdtemp()) / "mail.tally"
item = ledger.Item(identify(letter), tokens, ledger.HAM)
for _ in range(2):
    book = ledger.change(path, lambda book: book.learn([item]))
    print(f"\n{book.learned} learned:", database.read(path).tally)
