"""Thirty columns that repeat each other make the textbook model too sure. Leave-one-out shows it, and mends it."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from tallybayes import NaiveBayes
from tallybayes.core.evaluation import Evaluation

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
order = np.random.default_rng(0).permutation(len(y))
learn, test = order[:284], order[284:]


def show(title: str, report: Evaluation) -> None:
    print(f"{title}\n")
    for b in report.reliability:
        if b.weight >= 5:  # fewer rows prove nothing
            print(f"  {b.weight:4.0f} rows promised {b.confidence:6.1%} {'░' * round(40 * b.confidence)}")
            print(f"  {'':9} kept     {b.accuracy:6.1%} {'█' * round(40 * b.accuracy)}")
    print(f"\n  log loss {report.log_loss}\n")


raw = NaiveBayes(classical=True).fit(X[learn], y[learn])
show("As it is", raw.evaluate(X[learn], y[learn]))

honest = NaiveBayes(classical=True, calibration="temperature").fit(X[learn], y[learn])
show("Calibrated by one number", honest.evaluate(X[learn], y[learn]))
print(honest.calibration_)

print("\nAnd on rows that were held back:\n")
print(f"{'':12} {'accuracy':>8} {'log loss':>9} {'ECE':>7}")
for name in (None, "temperature", "isotonic"):
    model = NaiveBayes(classical=True, calibration=name).fit(X[learn], y[learn])
    report = model.evaluate(X[test], y[test], method="test")
    print(f"{name or 'as it is':12} {float(report.accuracy):8.4f} {float(report.log_loss):9.4f} {report.ece:7.4f}")
