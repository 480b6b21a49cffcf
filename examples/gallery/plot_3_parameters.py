"""
What the naive assumption saves
===============================

A table of D yes-or-no columns has 2^D combinations. To know how likely each is in either class takes 2·(2^D − 1)
numbers; if the columns are independent given the class, 2·D are enough. Both take one more for the prior.
"""

import matplotlib.pyplot as plt
import numpy as np

from tallybayes import BernoulliNB, plots

rng = np.random.default_rng(0)
columns, naive, joint = range(1, 31), [], []
for d in columns:
    model = BernoulliNB().fit(rng.integers(0, 2, size=(10, d)), [0, 1] * 5)
    naive.append(model.n_parameters_)
    joint.append(model.n_joint_parameters_)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.semilogy(columns, joint, "s-", color=plots.COLOURS[5], markersize=4, label="all combinations: 2·(2^D − 1) + 1")
ax.semilogy(columns, naive, "o-", color=plots.COLOURS[0], markersize=4, label="naive: 2·D + 1")
ax.set(xlabel="columns D", ylabel="numbers to learn")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
print(f"30 columns: {joint[-1]:,} numbers without the assumption, {naive[-1]} with it")
plt.show()
