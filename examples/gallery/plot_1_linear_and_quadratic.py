"""
A line, or a curve
==================

Two classes whose columns are normal. If both classes have the same variances, the quadratic terms of the log odds
cancel and the boundary is a straight line, w·x + b = 0: the form of logistic regression. With a variance for each
class it is a conic.
"""

import matplotlib.pyplot as plt
import numpy as np

from tallybayes import GaussianNB, plots

rng = np.random.default_rng(4)
wide, narrow = rng.normal(size=(150, 2)) * [1.6, 1.2], rng.normal(size=(150, 2)) * [0.7, 0.6] + [2.2, 1.0]
X, y = np.concatenate((wide, narrow)), np.repeat(["wide", "narrow"], 150)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for ax, variance in ((left, "shared"), (right, "class")):
    model = GaussianNB(variance=variance).fit(X, y)
    plots.decision_boundary(model, X=X, y=y, ax=ax)
    loss = float(model.evaluate(X, y).log_loss)
    ax.set_title(f"variance={variance!r}\nlog loss {loss:.3f}, leave-one-out", fontsize="medium")
    print(f"{variance:6} log loss {loss:.3f}")

# %%
# The line is exact: these are w and b of the logistic regression that the model is.

straight = GaussianNB(variance="shared").fit(X, y)
w, b = straight.coef_[0], straight.intercept_[0]
by_hand = 1 / (1 + np.exp(-(X @ w + b)))
print("the same as a logistic function:", np.allclose(by_hand, straight.predict_proba(X)[:, 1]))
plt.show()
