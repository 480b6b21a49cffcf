"""Columns that vary together: discriminant analysis beside Naive Bayes, from a tally that adds and subtracts."""

import numpy as np
from sklearn.datasets import load_wine

from tallybayes import GaussianDiscriminant, GaussianNB

data = load_wine()
X, y = data.data, data.target_names[data.target]

print("Leave-one-out, in closed form:")
for name, model in (
    ("GaussianNB", GaussianNB()),
    ("diagonal (the same)", GaussianDiscriminant(covariance="diagonal")),
    ("shared", GaussianDiscriminant()),
    ("shared, shrunk", GaussianDiscriminant(shrinkage="auto")),
    ("full", GaussianDiscriminant(covariance="full")),
    ("full, shrunk", GaussianDiscriminant(covariance="full", shrinkage="auto")),
):
    report = model.fit(X, y).evaluate(X, y)
    print(f"  {name:20} accuracy {float(report.accuracy):.3f}, log loss {float(report.log_loss):.3f}")

model = GaussianDiscriminant(shrinkage="auto").fit(X, y)
print(f"\nThe matrix was moved {model.shrinkage_[0]:.1%} of the way to the mean of its diagonal.")

flat = model.transform(X)
print("\nThe directions in which the classes lie furthest apart (`transform`), class means:")
for name in model.classes_:
    print(f"  {name}  " + "  ".join(f"{value:+6.2f}" for value in flat[y == name].mean(axis=0)))
print("  share of the variance between classes:", model.explained_variance_ratio_.round(3))

half = np.arange(len(y)) % 2 == 0
north, south = (GaussianDiscriminant(shrinkage="auto").fit(X[part], y[part]) for part in (half, ~half))
both = north + south
print("\nTwo sites add up to the whole:", np.allclose(both.predict_proba(X), model.predict_proba(X)))
both.unlearn(X[~half], y[~half])
print("One taken back leaves the other:", np.allclose(both.predict_proba(X), north.predict_proba(X)))
