"""Words: a smoothing that chooses itself, and what each word adds to the odds."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from tallybayes import MultinomialNB

SPAM = """win cash now
cash prize for you
win a free prize now
claim your cash prize
cheap watch now
free cash in your pocket
meet singles now
claim your free lunch"""
HAM = """free for lunch at noon
see you at lunch
meeting at noon
claim your expenses now
notes of the meeting
a prize for the best notes
watch the meeting at noon
your notes for lunch"""

mails = SPAM.splitlines() + HAM.splitlines()
kind = np.array(["spam"] * 8 + ["ham"] * 8)
words = CountVectorizer()
X = words.fit_transform(mails)

print("Log loss of eight folds by smoothing:")
for alpha in (0.01, 0.1, 1.0, 10.0, "auto"):
    model = MultinomialNB(alpha=alpha).fit(X, kind)
    chosen = f" (chosen: {model.alpha_:.2f})" if alpha == "auto" else ""
    print(f"  alpha {alpha!s:5} {float(model.evaluate(X, kind, method=8).log_loss):.4f}{chosen}")

print("\nWhat a word adds to the log odds of spam:")
odds, vocabulary = model.coef_[0], words.get_feature_names_out()
for word in np.argsort(-odds, kind="stable")[[0, 1, 2, -3, -2, -1]]:
    print(f"  {vocabulary[word]:8} {odds[word]:+.2f}")

mail = "claim a free lunch at the meeting"
asked = words.transform([mail])
p = model.predict_proba(asked)[0, 1]
print(f"\n{mail!r}: P(spam) = {p:.3f}")
said = model.contributions(asked)[0]  # (class, word): log P(word | class), as often as it occurs
print(f"  {'prior':10} {model.intercept_[0]:+.2f}")
for word in asked.indices:
    print(f"  {vocabulary[word]:10} {said[1, word] - said[0, word]:+.2f}")
