"""A table with missing values: learn it, explain a prediction, and evaluate the model."""

from tallybayes import NaiveBayes
from tallybayes.data import datasets

penguins = datasets.penguins()  # a dict of columns; a pandas, Polars or PyArrow frame would do as well
model = NaiveBayes().fit(penguins, target="species")

print("What is each column, and why?\n")
print(model.schema_)

species = penguins.pop("species")
rows = [dict(zip(penguins, cells, strict=True)) for cells in zip(*penguins.values(), strict=True)]

print("\nA bird whose sex nobody noted:\n")
print(model.explain(rows[9]))

print("\nA bird of which only the bill and the island are known:\n")
print(model.explain({"island": "Dream", "bill_length_mm": 45.0}))

print("\nPerformance on rows that had no part in the model:\n")
print(model.evaluate(rows, species))

novelty = model.score_samples(rows)  # log P(x): how usual a bird is
strangest = int(novelty.argmin())
print(f"\nThe strangest bird is number {strangest}, a {species[strangest]}:\n{rows[strangest]}")
