"""Make the golden model files of the present format version: ``python -m tests.golden.make_models``.

Files that are there are never made again: a version of the library that cannot read them is wrong, not they.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import tallybayes
from tallybayes import CategoricalNB, GaussianDiscriminant, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.data import datasets
from tallybayes.storage import VERSION

HERE = Path(__file__).parent
NUMBERS = np.array([[1.0, 8.5], [2.0, 7.0], [9.0, 1.5], [8.0, 2.5], [7.5, 2.0]])
COUNTS = np.array([[3, 0, 1], [2, 0, 2], [0, 4, 1], [0, 5, 0], [1, 3, 0]])
SIDE = ["left", "left", "right", "right", "right"]


def penguins() -> tuple[dict[str, Any], list[Any]]:
    columns = datasets.penguins()
    return columns, columns.pop("species")


def models() -> dict[str, tuple[Any, Any]]:
    """Fitted estimators by name, each with rows to predict."""
    birds, species = penguins()
    some = {name: values[::40] for name, values in birds.items()}
    mixed = NaiveBayes(
        classical=True, kind={"year": "category", "body_mass_g": "count"}, missing="level", calibration="isotonic"
    )
    return {
        "mixed": (mixed.fit(birds, species), some),
        "gaussian": (GaussianNB(priors=[0.25, 0.75]).fit(NUMBERS, SIDE), NUMBERS),
        "categorical": (CategoricalNB(alpha=0.5).fit(COUNTS, [True, True, False, False, False]), COUNTS),
        "discriminant": (GaussianDiscriminant(shrinkage=0.2).fit(NUMBERS, np.array(SIDE)), NUMBERS),
        "multinomial": (MultinomialNB(alpha="auto").fit(COUNTS, [1, 1, 2, 2, 2]), COUNTS),
    }


def main() -> None:
    for name, (model, rows) in models().items():
        path = HERE / f"v{VERSION}-{name}.tally"
        if path.exists():
            print(f"{path.name} is there already")
            continue
        model.save(path)
        answers = tallybayes.load(path).predict_proba(rows).tolist()
        path.with_suffix(".json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
