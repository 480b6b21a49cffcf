"""Groups in a table that nobody labelled: how many there are, who is in them, and what tells them apart."""

from collections import Counter

import numpy as np

from tallybayes import GaussianDiscriminant, NaiveBayesMixture
from tallybayes.data.datasets import penguins

table = penguins()
species = table.pop("species")


def show(labels):
    for cluster in np.unique(labels):
        members = Counter(name for name, label in zip(species, labels, strict=True) if label == cluster)
        print(f"  {cluster}: " + ", ".join(f"{n} {name}" for name, n in members.most_common()))


search = NaiveBayesMixture("auto", max_components=8, random_state=0).fit(table)
print("The table as it is, with missing values. How many groups? The least BIC:")
for n, bic in search.bic_path_.items():
    print(f"  {n}  {bic:9.1f}{'  <' if n == search.n_components_ else ''}")
print("\nWho is in them; the model never saw the species:")
show(search.labels_)

print("\nWhat tells the first penguin's group from the next:")
print(search.classifier_.explain({name: values[0] for name, values in table.items()}))

# Males and females, islands and species: whatever makes columns go together makes groups. Of the four measures alone,
# with columns that may vary together within a group, what is left is the species.
measures = np.array([table[name] for name in table if name.endswith(("_mm", "_g"))], dtype=float).T
model = NaiveBayesMixture(3, estimator=GaussianDiscriminant(), n_init=10, random_state=0).fit(measures)
print("\nThree groups of the measures, by discriminant analysis without labels:")
show(model.labels_)
