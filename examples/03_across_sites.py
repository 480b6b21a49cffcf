"""Three islands learn apart and put their models together. No row leaves its island."""

import pickle

import numpy as np

from tallybayes import NaiveBayes
from tallybayes.data import datasets

penguins = datasets.penguins()
species, island = np.array(penguins.pop("species")), np.array(penguins["island"])
rows = [dict(zip(penguins, cells, strict=True)) for cells in zip(*penguins.values(), strict=True)]

# On each island the column "island" never changes and would be left out. All sites agree on the kinds beforehand.
SETTINGS = {"classical": True, "kind": {"island": "category", "sex": "category", "year": "category"}}


def learn_at(place: str) -> bytes:
    """What a site sends: its tally, a few hundred numbers however many rows there are."""
    here = np.flatnonzero(island == place)
    model = NaiveBayes(**SETTINGS).fit([rows[i] for i in here], species[here])
    print(f"{place:10} {model.tally_}")
    return pickle.dumps(model)


sent = [learn_at(place) for place in ("Biscoe", "Dream", "Torgersen")]
first, *others = map(pickle.loads, sent)  # in one's own network; never unpickle what a stranger sends
together = sum(others, first)
print(f"{'together':10} {together.tally_}")

pooled = NaiveBayes(**SETTINGS).fit(rows, species)
apart = np.abs(together.predict_proba(rows) - pooled.predict_proba(rows)).max()
print(f"\nThe same as a model of the pooled rows, to within 1e-12: {apart < 1e-12}")

print("\nWhat each site alone would have made of all the birds:")
for place, each in zip(("Biscoe", "Dream", "Torgersen", "together"), (first, *others, together), strict=True):
    right = np.mean(each.predict(rows) == species)
    print(f"  {place:10} {right:6.1%} right, knows {', '.join(each.classes_)}")
