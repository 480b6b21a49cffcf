"""Latent classes by StepMix (Morin et al. 2025), from given shares: writes stepmix.json.

StepMix is not installed with the tests; run this in an environment that has it.

    python tests/oracles/make_stepmix.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("stepmix.json")
N, CLASSES = 300, 3
STEPS = (1, 5, 50)


def rows() -> tuple[Any, Any]:
    """Three columns of categories and two of numbers, three groups; and shares to begin with."""
    rng = np.random.default_rng(11)
    y = rng.choice(CLASSES, size=N, p=[0.5, 0.3, 0.2])
    levels = (3, 4, 3)
    codes = np.column_stack([(rng.integers(m, size=N) * (rng.random(N) < 0.5) + y) % m for m in levels])
    numbers = (rng.normal(size=(N, 2)) * [1.0, 2.0] + 1.5 * y[:, None]).round(3)
    return np.column_stack([codes, numbers]).astype(np.float64), rng.dirichlet(np.ones(CLASSES), size=N).round(6)


def with_missing(x: Any) -> Any:
    """The same with every tenth cell missing."""
    return np.where(np.random.default_rng(5).random(x.shape) < 0.1, np.nan, x)


def compute() -> dict[str, Any]:
    """Mean log likelihood after so many steps."""
    import stepmix
    from stepmix.stepmix import StepMix

    x, share = rows()
    share = share / share.sum(axis=1, keepdims=True)

    class FromShares(StepMix):  # type: ignore[misc]
        """Begins at given shares, class weights included."""

        def _initialize_parameters(self, X: Any, random_state: Any) -> None:
            super()._initialize_parameters(X, random_state)
            self._m_step(X, share)

    def mixed(nan: str) -> dict[str, Any]:
        return {
            "codes": {"model": f"categorical{nan}", "n_columns": 3},
            "numbers": {"model": f"gaussian_diag{nan}", "n_columns": 2},
        }

    cases = {
        "categories": (x[:, :3], "categorical"),
        "categories with holes": (with_missing(x)[:, :3], "categorical_nan"),
        "mixed": (x, mixed("")),
        "mixed with holes": (with_missing(x), mixed("_nan")),
    }
    found: dict[str, Any] = {}
    for name, (cells, measurement) in cases.items():
        for steps in STEPS:
            model = FromShares(
                CLASSES, measurement=measurement, max_iter=steps, abs_tol=0.0, progress_bar=0, random_state=0
            )
            model.fit(cells)
            found.setdefault(name, {})[str(steps)] = float(model.score(cells))
    return {"made_with": {"stepmix": stepmix.__version__, "numpy": np.__version__}, "mean_log_likelihood": found}


if __name__ == "__main__":
    STORED.write_text(json.dumps(compute(), indent=1) + "\n")
