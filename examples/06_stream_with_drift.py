"""Messages keep coming, and what is urgent changes. One model remembers everything, one lets the past fade."""

import numpy as np

from tallybayes import NaiveBayes

rng = np.random.default_rng(0)
TOPICS = np.array(["invoice", "outage", "lunch", "audit"])
KINDS = {"topic": "category", "words": "numeric"}  # said beforehand: a first batch may not show all there is


def day(number: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Outages are urgent until day 30. Then the auditors come, and audits are."""
    topic = rng.choice(TOPICS if number >= 20 else TOPICS[:3], size=40)
    hot = "outage" if number < 30 else "audit"
    urgent = rng.random(40) < np.where(topic == hot, 0.9, 0.1)
    words = rng.poisson(np.where(urgent, 20, 30)).astype(float)
    words[rng.random(40) < 0.1] = np.nan  # some were not counted
    return {"topic": topic, "words": words}, np.where(urgent, "urgent", "later")


models = {f"decay {decay}": NaiveBayes(kind=KINDS, decay=decay) for decay in (1.0, 0.9, 0.7)}
right: dict[str, list[float]] = {name: [] for name in models}
for number in range(60):
    X, y = day(number)
    for name, model in models.items():
        if number:  # predict first, learn then
            right[name].append(float(np.mean(model.predict(X) == y)))
        model.partial_fit(X, y)

print("Share of messages sorted rightly, day by day before they were learned\n")
print(f"{'days':10} {'1-29':>7} {'30-34':>7} {'35-39':>7} {'40-59':>7} {'rows left':>10}")
for name, model in models.items():
    spans = (slice(0, 29), slice(29, 34), slice(34, 39), slice(39, 59))
    shares = " ".join(f"{np.mean(right[name][span]):7.1%}" for span in spans)
    print(f"{name:10} {shares} {model.class_count_.sum():10.0f}")

print("\nLevels, the new one included:", *model.schema_.columns[0].levels)
print("\nWhat the last model says of an audit today:\n")
print(model.explain({"topic": "audit", "words": 22}))
