"""
One model, seen from all sides
==============================

Penguins of three species, with missing values: what each column says, how one prediction came about, and how good the
model is, by leave-one-out.
"""

import matplotlib.pyplot as plt

from tallybayes import NaiveBayes, plots
from tallybayes.data import datasets

table = datasets.penguins()
species = table.pop("species")
model = NaiveBayes(classical=True).fit(table, species)
plots.features(model, table, species, most=6)

# %%
# The evidence for one penguin, from the prior to the posterior.

plots.evidence(model, {name: values[200] for name, values in table.items()})

# %%
# The same model as a chart for paper and ruler.

plots.nomogram(model, "Gentoo", "Chinstrap")

# %%
# How sure, and how right.

evaluation = model.evaluate(table, species)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plots.confusion(evaluation, ax=left)
plots.reliability(evaluation, ax=right)

# %%
# How many penguins it takes: tallies of the textbook model are merged, nothing is refitted.

plots.learning_curve(model, table, species)
print(repr(evaluation))
plt.show()
