"""Fitted state and log joint probabilities of scikit-learn's estimators: writes sklearn.json.

`tests/estimators/test_parity.py` compares with the scikit-learn that is installed; these numbers stay as they were.

    python tests/oracles/make_sklearn.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("sklearn.json")

SETTINGS: dict[str, dict[str, Any]] = {
    "GaussianNB": {"var_smoothing": 0.01},
    "BernoulliNB": {"alpha": 0.5, "binarize": 1.0},
    "CategoricalNB": {"alpha": 0.5, "min_categories": 12},
    "MultinomialNB": {"alpha": 0.5},
    "ComplementNB": {"alpha": 0.5, "norm": True},
}


def listed(value: Any) -> Any:
    """Arrays, and lists of arrays, as lists."""
    return [listed(part) for part in value] if isinstance(value, list) else np.asarray(value).tolist()


def compute() -> dict[str, Any]:
    """Rows, labels, and what each estimator makes of them."""
    import sklearn
    from sklearn import naive_bayes

    rng = np.random.default_rng(21)
    y = np.array(["no", "yes", "maybe"])[rng.permutation(np.arange(24) % 3)]
    x = rng.poisson(rng.uniform(0.5, 4.0, size=(24, 4)))
    fitted = {name: getattr(naive_bayes, name)(**params).fit(x, y) for name, params in SETTINGS.items()}
    return {
        "made_with": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "x": x.tolist(),
        "y": y.tolist(),
        "state": {
            name: {field: listed(value) for field, value in vars(model).items() if field.endswith("_")}
            for name, model in fitted.items()
        },
        "log_joint": {name: model.predict_joint_log_proba(x).tolist() for name, model in fitted.items()},
    }


if __name__ == "__main__":
    STORED.write_text(json.dumps(compute(), indent=1) + "\n")
