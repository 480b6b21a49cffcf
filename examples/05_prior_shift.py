"""Trained in a clinic, used in a screening: the same tumours in another mix, found without a single label."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from tallybayes import NaiveBayes

data = load_breast_cancer()
names = ["mean radius", "mean texture"]
columns = [list(data.feature_names).index(name) for name in names]
diagnosis = data.target_names[data.target]


def patients(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: data.data[rows, column] for name, column in zip(names, columns, strict=True)}


order = np.random.default_rng(0).permutation(len(diagnosis))
clinic, rest = order[:284], order[284:]
ill, well = rest[diagnosis[rest] == "malignant"], rest[diagnosis[rest] == "benign"]
screened = np.concatenate([well, ill[:14]])  # few of those who come to a screening are ill

model = NaiveBayes().fit(patients(clinic), diagnosis[clinic])
shift = model.estimate_prior(patients(screened))  # no labels here
moved = model.with_prior(shift.prior)

print(f"malignant in the clinic     {np.mean(diagnosis[clinic] == 'malignant'):6.1%}")
print(f"malignant in the screening  {np.mean(diagnosis[screened] == 'malignant'):6.1%}")
print(f"estimated from the rows     {shift.prior['malignant']:6.1%}, {shift.n_iter} steps")

for title, each in (("As trained", model), ("With the prior moved", moved)):
    report = each.evaluate(patients(screened), diagnosis[screened], method="test")
    false_alarms, missed = int(report.confusion[0, 1]), int(report.confusion[1, 0])
    print(f"\n{title}: log loss {report.log_loss}")
    print(f"  false alarms: {false_alarms} of {len(well)} who are well; missed: {missed} of 14 who are ill")

print("\nBetter probabilities, fewer alarms. But what is rare is easily missed: choose the threshold by what it costs.")
chance = moved.predict_proba(patients(screened))[:, 1]
for threshold in (0.5, 0.2, 0.05):
    alarm, is_ill = chance > threshold, diagnosis[screened] == "malignant"
    print(f"  alarm above {threshold:3.0%}: false alarms {np.sum(alarm & ~is_ill):2}, missed {np.sum(~alarm & is_ill)}")
