"""Tables that are made up, the same each time, for lessons: their truth is known and nobody is in them."""

from __future__ import annotations

from typing import Any

import numpy as np

TOPICS = {
    "billing": ("invoice", "charged twice", "refund", "payment failed", "credit card", "subscription", "price"),
    "bug": ("crash", "error message", "does not load", "freezes", "blank screen", "stack trace", "since the update"),
    "account": ("password", "cannot log in", "reset link", "two factor code", "change my email", "locked out"),
}
FILLERS = (
    "please help",
    "thanks in advance",
    "it worked yesterday",
    "urgent",
    "hello",
    "I tried everything",
    "any idea",
)


def loans(n: int = 1_200, seed: int = 0) -> dict[str, list[Any]]:
    """Return loans, of which about a fifth is not paid back (``paid`` is "no").

    Examples
    --------
    >>> table = loans(5)
    >>> list(table)
    ['income', 'amount', 'months', 'job', 'history', 'paid']
    """
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(7.8, 0.45, n)), -1)
    amount = np.round(np.exp(rng.normal(8.4, 0.7, n)), -2)
    months = rng.choice([12, 24, 36, 48, 60], n, p=[0.2, 0.25, 0.25, 0.15, 0.15])
    job = rng.choice(["permanent", "temporary", "self-employed", "none"], n, p=[0.55, 0.2, 0.18, 0.07])
    history = rng.choice(["clean", "late once", "late often", "none"], n, p=[0.6, 0.2, 0.08, 0.12])
    burden = amount / months / income
    odds = -2.6 + 4.0 * np.minimum(burden, 1.0) - 0.3 * np.log(income / 2_400)
    odds += np.select([job == "temporary", job == "none", job == "self-employed"], [0.6, 1.3, 0.3], 0.0)
    odds += np.select([history == "late once", history == "late often", history == "none"], [0.7, 1.9, 0.4], 0.0)
    paid = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "no", "yes")
    known = rng.random(n) > 0.08
    return {
        "income": [float(v) if k else None for v, k in zip(income, known, strict=True)],
        "amount": amount.tolist(),
        "months": months.tolist(),
        "job": job.tolist(),
        "history": history.tolist(),
        "paid": paid.tolist(),
    }


def triage(n: int = 1_500, seed: int = 0) -> dict[str, list[Any]]:
    """Return visits to an emergency room: what is known at the door, often not all, and how urgent it was.

    Examples
    --------
    >>> table = triage(200)
    >>> sorted(set(table["urgency"]))
    ['can wait', 'now', 'soon']
    """
    rng = np.random.default_rng(seed)
    urgency = rng.choice(3, n, p=[0.55, 0.33, 0.12])
    complaint = [("fever", "injury", "chest pain", "breathing", "other")[
        rng.choice(5, p=([0.25, 0.35, 0.05, 0.05, 0.3], [0.25, 0.25, 0.2, 0.15, 0.15], [0.1, 0.2, 0.3, 0.3, 0.1])[u])
    ] for u in urgency]  # fmt: skip
    numbers = {
        "age": np.clip(rng.normal(np.array([38, 50, 62])[urgency], 20), 0, 99).round(),
        "pulse": rng.normal(np.array([78, 90, 108])[urgency], 13).round(),
        "oxygen": np.minimum(100, rng.normal(np.array([98, 96, 91])[urgency], np.array([1, 2, 4])[urgency])).round(),
        "temperature": rng.normal(np.array([36.9, 37.5, 37.8])[urgency], 0.7).round(1),
    }
    gone = {"age": 0.02, "pulse": 0.15, "oxygen": 0.35, "temperature": 0.25}
    columns: dict[str, list[Any]] = {"complaint": complaint}
    for name, values in numbers.items():
        missing = rng.random(n) < gone[name]
        columns[name] = [None if m else float(v) for v, m in zip(values, missing, strict=True)]
    return columns | {"urgency": [("can wait", "soon", "now")[u] for u in urgency]}


def tickets(n: int = 900, seed: int = 0) -> dict[str, list[Any]]:
    """Return support tickets: a text, the plan and the channel, and the team that solved it (``team``).

    Examples
    --------
    >>> tickets(3)["team"]
    ['bug', 'billing', 'billing']
    """
    rng = np.random.default_rng(seed)
    teams, plans = list(TOPICS), ("free", "team", "enterprise")
    codes = rng.choice(3, n, p=[0.3, 0.45, 0.25])
    texts = []
    for k in codes:
        own = rng.choice(TOPICS[teams[k]], rng.integers(1, 3), replace=False)
        stray = rng.choice(TOPICS[teams[rng.integers(3)]], rng.integers(0, 2), replace=False)
        words = [*own, *stray, *rng.choice(FILLERS, rng.integers(1, 4), replace=False)]
        links = rng.choice([", ", ". ", " and ", " "], len(words) - 1)
        parts = zip(rng.permutation(words).tolist(), [*links.tolist(), ""], strict=True)
        texts.append("".join(part + link for part, link in parts))
    chances = np.array([[0.2, 0.5, 0.3], [0.4, 0.35, 0.25], [0.7, 0.2, 0.1]])
    plan = [plans[rng.choice(3, p=chances[k])] for k in codes]
    channel = [("mail", "chat", "phone")[rng.choice(3, p=([0.6, 0.2, 0.2], [0.4, 0.5, 0.1], [0.2, 0.3, 0.5])[k])]
               for k in codes]  # fmt: skip
    return {"text": texts, "plan": plan, "channel": channel, "team": [teams[k] for k in codes]}
