"""A ledger of daily counts: rolling windows, decay by the clock, and a customer who asks to be forgotten."""

import tempfile
from pathlib import Path

import numpy as np

from tallybayes import Ledger, NaiveBayes, rows

rng = np.random.default_rng(0)
SITES = ("north", "south", "east")


def day(number: int) -> dict[str, list]:
    """Offers of one site and day. What sells changes on day 40."""
    offer = rng.choice(["tea", "coffee", "cocoa"], 30)
    hot = "tea" if number < 40 else "coffee"
    sold = rng.random(30) < np.where(offer == hot, 0.8, 0.3)
    price = np.round(rng.normal(np.where(sold, 4.0, 5.0), 1.0), 2)
    return {"offer": offer.tolist(), "price": price.tolist(), "sold": np.where(sold, "yes", "no").tolist()}


folder = Path(tempfile.mkdtemp())
plan = NaiveBayes(classical=True).fit(day(0), target="sold")  # how columns are read; its rows are not in the ledger
with Ledger.create(folder / "shop.ledger", plan, period="step") as ledger:
    with ledger.appending() as append:  # durable in groups: one wait for the disk for many batches
        for number in range(60):
            for site in SITES:
                append(day(number), period=number, key=site, batch_id=f"{number}/{site}")
    print(ledger)

    cup = {"offer": ["coffee"], "price": [4.0]}

    def chance(**part) -> str:
        model = ledger.model(**part)
        place = model.schema.classes.index("yes")
        return f"{model.posterior(rows(model, cup))[0, place]:.2f} by {model.provenance.rows:,} rows"

    print("\nP(a coffee at 4.00 is sold)")
    print("  all days           ", chance())
    print("  until day 39       ", chance(until=39))
    print("  the last ten days  ", chance(window=10))
    print("  half-life 5 days   ", chance(half_life=5))
    print("  without the north  ", chance(without="north", window=10))

    kept = ledger.model(without="north")
    receipt = ledger.forget("north")
    left = ledger.model()
    same = np.allclose(left.posterior(rows(left, cup)), kept.posterior(rows(kept, cup)), rtol=0, atol=1e-12)
    print(
        f"\nForgotten: {receipt.rows:,} rows in {receipt.batches} batches; the rest is as if they had never been:", same
    )
    print("Nothing else was changed:", ledger.verify(receipt).is_sound)
