"""
Naive Bayes and logistic regression as rows come in
===================================================

Both have a linear boundary here. Naive Bayes maximises the joint likelihood of columns and class, logistic regression
the likelihood of the class alone. Where the columns are independent given the class, Naive Bayes gets there with far
fewer rows, and both end at the same place. Where they are not, it counts the same thing many times and ends behind
(Ng and Jordan 2001).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from tallybayes import GaussianNB, plots

D, SIZES, REPEATS = 20, (20, 40, 80, 160, 320, 640, 1280), 6


def draw(n, correlation, rng):
    y = rng.integers(0, 2, n)
    shared = np.sqrt(correlation) * rng.normal(size=(n, 1))
    apart = np.where(np.arange(D) % 3, 0.15, 0.55)
    return np.sqrt(1 - correlation) * rng.normal(size=(n, D)) + shared + y[:, None] * apart, y


figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax, correlation in zip(panels, (0.0, 0.5), strict=True):
    errors = {"Naive Bayes": [], "logistic regression": []}
    test_X, test_y = draw(4000, correlation, np.random.default_rng(99))
    for n in SIZES:
        found = {name: [] for name in errors}
        for seed in range(REPEATS):
            X, y = draw(n, correlation, np.random.default_rng(seed))
            found["Naive Bayes"].append(1 - GaussianNB(variance="shared").fit(X, y).score(test_X, test_y))
            found["logistic regression"].append(1 - LogisticRegression(C=100).fit(X, y).score(test_X, test_y))
        for name, each in found.items():
            errors[name].append(np.mean(each))
    for k, (name, path) in enumerate(errors.items()):
        ax.plot(SIZES, path, "os"[k] + "-", color=plots.COLOURS[k], label=name)
        print(f"correlation {correlation}: {name:20} error {path[0]:.2f} after 20 rows, {path[-1]:.2f} after 1,280")
    ax.set(xscale="log", xlabel="rows", title=f"correlation within the classes {correlation:g}")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("error on new rows")
panels[0].legend(frameon=False)
plt.show()
