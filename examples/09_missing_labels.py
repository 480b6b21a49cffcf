"""Twelve labelled penguins of 344: what the others add, though nobody says what they are."""

import numpy as np

from tallybayes import EM, GaussianDiscriminant, GaussianNB, datasets

table = datasets.penguins()
species = np.array(table["species"])
names = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
X = np.array([table[name] for name in names], dtype=float).T

rng = np.random.default_rng(0)
known = np.zeros(len(species), dtype=bool)
for name in np.unique(species):
    known[rng.choice(np.flatnonzero(species == name), 4, replace=False)] = True
labels = np.where(known, species, None)
print(f"{known.sum()} of {len(labels)} penguins have a label. Right about the others:")

for kind in (GaussianDiscriminant, GaussianNB):
    print(f"\n{kind.__name__}")
    for what, settings in {
        "labelled rows alone": {"unlabelled": "ignore"},
        "and the others": {"unlabelled": "em"},
        "as much as they help": {"unlabelled": "em", "em": EM(weight="auto")},
    }.items():
        model = kind(**settings).fit(X, labels)
        right = (model.predict(X) == species)[~known].mean()
        print(f"  {what:22} {right:.3f}   weight {getattr(model, 'unlabelled_weight_', 1.0 * (model.n_iter_ > 1))}")

# Unlabelled rows show where the rows are thick, not what they are. That helps as far as the model describes the
# classes: the measures of a bird go together, which GaussianNB denies, and its classes drift to other groups.

model = GaussianDiscriminant(unlabelled="em").fit(X, labels)
path = model.log_likelihood_path_
print(f"\n{model.n_iter_} steps, converged: {model.converged_}; the log likelihood climbs:")
for step in (1, 2, 3, len(path)):
    print(f"  after step {step:2}  {path[step - 1]:10.2f}")

print("\nPenguins of each species, as shared out and in truth:")
for name, weight in zip(model.classes_, model.class_count_, strict=True):
    print(f"  {name:10} {weight:6.1f} {(species == name).sum():4}")
