"""Texts: classified as they are, explained word by word, learned and forgotten one at a time, beside other columns."""

import numpy as np

from tallybayes import NaiveBayes, TextNB

rng = np.random.default_rng(0)
TOPICS = {
    "billing": "invoice charged twice refund card payment wrong amount please check my account",
    "delivery": "parcel late not arrived where is my order tracking number courier lost",
    "praise": "thank you great service love the product very happy will order again",
}
COMMON = ["hello", "i", "bought", "the", "lamp", "last", "week", "and", "today", "it", "is", "what", "regards"]


def message(topic: str) -> str:
    words = [*rng.choice(TOPICS[topic].split(), 5), *rng.choice(COMMON, 6)]
    return " ".join(rng.permutation(words)).capitalize() + rng.choice([".", "!", "?!", " :)"])


topics = rng.choice(list(TOPICS), 400, p=[0.3, 0.5, 0.2])
texts = [message(topic) for topic in topics]

model = TextNB().fit(texts[:300], topics[:300])
print(f"{model.score(texts[300:], topics[300:]):.0%} of new messages are sorted right")
print("what marks a complaint about delivery:", *(word.word for word in model.top_words("delivery", 5)))

asked = "Hello, my card was charged twice and the parcel is late"
print(f"\n{asked!r}\n{model.explain(asked)}")

print("\nOne message more, and taken back:")
note = ["The drone crashed into my hedge"]
before = model.predict_proba(note)[0]
model.partial_fit(note, ["delivery"])
print(f"  P(delivery) {before[1]:.2f} → {model.predict_proba(note)[0, 1]:.2f}", end=" → ")
model.unlearn(note, ["delivery"])
print(f"{model.predict_proba(note)[0, 1]:.2f}; 'hedge' is known: {'hedge' in model.vocabulary_}")

print("\nBeside other columns, in one model:")
table = {
    "message": texts,
    "hours since order": np.where(topics == "delivery", 90.0, 30.0) + 20 * rng.normal(size=400),
    "channel": np.where(rng.random(400) < 0.8, np.where(topics == "praise", "web", "phone"), "mail"),
}
mixed = NaiveBayes().fit(table, topics)
print(mixed.schema_)
print(mixed.explain({"message": "it is late", "hours since order": 100.0, "channel": "phone"}))
