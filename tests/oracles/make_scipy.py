"""Log evidence by SciPy's distributions: writes scipy.json.

Parameters are maximum likelihood by plain NumPy means; log P(x) = log Σ_k π_k Π_d P(x_d | k) by `scipy.stats`.

    python tests/oracles/make_scipy.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("scipy.json")


def by_class(x: Any, y: Any, statistic: Any) -> Any:
    return np.stack([statistic(x[y == k], axis=0) for k in range(3)])


def compute() -> dict[str, Any]:
    """Rows, labels and the log evidence of every row, family by family."""
    import scipy
    from scipy import stats
    from scipy.special import logsumexp

    rng = np.random.default_rng(20)
    y = np.arange(24) % 3
    y[-6:] = 0
    prior = np.log(np.bincount(y) / len(y))
    numbers = rng.normal(size=(24, 4)).round(3) + y[:, None]
    words = rng.poisson(1.5 + y[:, None] * np.arange(4))  # no column is zero in a whole class
    yes_no = (words + rng.integers(0, 2, words.shape)) % 2
    yes_no[:3], yes_no[3:6] = 0, 1  # both in every class and column

    spread = by_class(numbers, y, np.std)
    theta = by_class(words, y, np.sum)
    theta = theta / theta.sum(axis=1, keepdims=True)
    densities = {
        "gaussian": stats.norm.logpdf(numbers[:, None], by_class(numbers, y, np.mean), spread).sum(axis=2),
        "bernoulli": stats.bernoulli.logpmf(yes_no[:, None], by_class(yes_no, y, np.mean)).sum(axis=2),
        "poisson": stats.poisson.logpmf(words[:, None], by_class(words, y, np.mean)).sum(axis=2),
        "multinomial": np.stack([stats.multinomial.logpmf(words, words.sum(axis=1), p) for p in theta], axis=1),
    }
    data = {"gaussian": numbers, "bernoulli": yes_no, "poisson": words, "multinomial": words}
    return {
        "made_with": {"scipy": scipy.__version__, "numpy": np.__version__},
        "y": y.tolist(),
        "x": {family: x.tolist() for family, x in data.items()},
        "log_evidence": {family: logsumexp(d + prior, axis=1).tolist() for family, d in densities.items()},
    }


if __name__ == "__main__":
    STORED.write_text(json.dumps(compute(), indent=1) + "\n")
