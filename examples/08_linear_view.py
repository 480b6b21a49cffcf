"""With one variance for all classes, a Gaussian Naive Bayes model is a logistic regression. Here it is."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from tallybayes import GaussianNB

data = load_breast_cancer()
names = ["mean texture", "mean area", "mean smoothness", "mean symmetry"]
X = data.data[:, [list(data.feature_names).index(name) for name in names]]
y = data.target_names[data.target]

print("Is a straight boundary good enough? By leave-one-out:")
for variance in ("class", "shared"):
    report = GaussianNB(variance=variance).fit(X, y).evaluate(X, y)
    print(f"  variance={variance!r:9} accuracy {float(report.accuracy):.3f}, log loss {float(report.log_loss):.3f}")

model = GaussianNB(variance="shared").fit(X, y)
spread = X.std(axis=0)
print(f"\nWhat a step of one standard deviation adds to the log odds of {model.classes_[1]!s}:")
for name, weight in zip(names, model.coef_[0] * spread, strict=True):
    print(f"  {name:16} {weight:+6.2f} {('+' if weight > 0 else '-') * round(4 * abs(weight))}")

p = model.predict_proba(X)[:, 1]
twin = model.to_logistic_regression()
by_hand = 1 / (1 + np.exp(-(X @ model.coef_[0] + model.intercept_[0])))
print("\nThe same probabilities from a LogisticRegression:", np.allclose(twin.predict_proba(X)[:, 1], p))
print("The same by hand, 1 / (1 + exp(-log odds)):", np.allclose(by_hand, p))

# Logistic regression looks for the weights that fit the labels best; Naive Bayes counts them in one pass.
scaled = (X - X.mean(axis=0)) / spread
trained = LogisticRegression().fit(scaled, y)
print("\nWeights per standard deviation, counted and trained:")
for name, counted, fitted in zip(names, model.coef_[0] * spread, trained.coef_[0], strict=True):
    print(f"  {name:16} {counted:+6.2f} {fitted:+6.2f}")
