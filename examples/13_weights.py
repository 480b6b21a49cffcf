"""Two gauges say the same, and two settings matter only together. The model finds out how much to believe of each."""

import numpy as np

from tallybayes import NaiveBayes

rng = np.random.default_rng(0)


def parts(n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Parts from a press: hot ones fail, and so do those of an old press with a new tool."""
    celsius = rng.normal(70.0, 8.0, size=n)
    press, tool = rng.choice(["old", "new"], size=(2, n))
    odds = (celsius - 74.0) / 5.0 + np.where(press == tool, -1.5, 1.5)
    table = {
        "celsius": celsius.round(1),
        "fahrenheit": (celsius * 1.8 + 32.0 + rng.normal(size=n)).round(),  # the other gauge
        "press": press,
        "tool": tool,
        "shift": rng.choice(["early", "late", "night"], size=n),  # has no part in it
    }
    return table, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "faulty", "fine")


X, y = parts(3000)
X_new, y_new = parts(3000)
model = NaiveBayes().fit(X, y)

print("What is each column, and why?\n")
print(model.schema_)

print("\nThe weights of the columns:\n")
assert model.weights_ is not None
for name, weight in model.weights_.columns.items():
    print(f"  {name:25} {weight:5.2f} {'█' * round(20 * weight)}")

print("\nA hot part from the old press with the new tool, for each column in nats for a fault:\n")
part = {"celsius": [81.0], "fahrenheit": [178.0], "press": ["old"], "tool": ["new"], "shift": ["late"]}
said = model.contributions(part)[0]
for name, amount in zip(model.schema_.names, said[0] - said[1], strict=True):
    print(f"  {name:25} {amount:+5.2f}")

print("\n3,000 parts that were not learned:\n")
models = {
    "textbook": NaiveBayes(classical=True),
    "weighted": NaiveBayes(max_pairs=0),
    "weighted, pairs": NaiveBayes(),
}
print(f"{'':16} {'accuracy':>8} {'log loss':>9} {'ECE':>7}")
for title, each in models.items():
    report = each.fit(X, y).evaluate(X_new, y_new, method="test")
    print(f"{title:16} {float(report.accuracy):8.4f} {float(report.log_loss):9.4f} {report.ece:7.4f}")
