"""Take rows back: what is left is the textbook model that never saw them."""

import json

import numpy as np

from tallybayes import NaiveBayes
from tallybayes.data import datasets
from tallybayes.errors import UnlearnError

penguins = datasets.penguins()
species = np.array(penguins.pop("species"))
rows = [dict(zip(penguins, cells, strict=True)) for cells in zip(*penguins.values(), strict=True)]
model = NaiveBayes(classical=True).fit(rows, species)

leaving = [0, 160, 300]
model.unlearn([rows[i] for i in leaving], species[leaving])
print("The receipt:\n")
print(model.receipt_)
print("\nThe same for a machine:")
print(json.dumps(model.receipt_.as_dict()))

staying = np.delete(np.arange(len(rows)), leaving)
never = NaiveBayes(classical=True).fit([rows[i] for i in staying], species[staying])
apart = np.abs(model.predict_proba(rows) - never.predict_proba(rows)).max()
print("\nHeld against a model that never saw them:")
print(f"  the same class counts: {np.array_equal(model.class_count_, never.class_count_)}")
print(f"  the same probabilities, to within 1e-12: {apart < 1e-12}")

print("\nWhat cannot have been there is refused, and the model stays as it was:")
for slip in ({"island": "Booth"}, {"bill_length_mm": 391.0}):
    try:
        model.unlearn([{**rows[1], **slip}], species[1:2])
    except UnlearnError as error:
        print(f"  {slip}: {error}")
