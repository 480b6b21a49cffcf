"""
Look at a model
===============

Loans that were paid back or not: which columns matter, what each value says and how sure that is, and two views for
people without Python.
"""

from tallybayes import NaiveBayes, datasets, plots

table = datasets.loans()
model = NaiveBayes().fit(table, target="paid")
print(model.overview().verdict)

# %%
# How much each column moves a prediction on average, with 90 % intervals.

plots.importance(model)

# %%
# An evidence curve: the log odds by value, with its band, and where the rows are.

plots.shape(model, "income")

# %%
# Categories, by their evidence.

plots.shape(model, "history")

# %%
# The same model as a chart for paper and ruler.

plots.nomogram(model)

# %%
# ``model.report("loans.html", table)`` writes a page with all of this and a what-if form:
#
# .. image:: /images/what-if.png
#    :alt: The what-if form of a report
