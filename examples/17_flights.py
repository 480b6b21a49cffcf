"""A table as it comes: departures as text with the hour, distances with a unit, missing cells. Nothing is prepared.

The flights are made up, in the columns of nycflights13: the evening and the winter are late, and the airlines differ.
"""

import csv
import datetime
import random
import tempfile
from pathlib import Path

import tallybayes
from tallybayes import NaiveBayes

rng = random.Random(0)
CARRIERS = {"UA": -0.4, "DL": -0.6, "B6": 0.3, "EV": 0.7, "WN": 0.1}
DISTANCES = {"ATL": "762 mi", "BOS": "187 mi", "LAX": "2,475 mi", "ORD": "719 mi", "MIA": "1,089 mi"}


def flight() -> dict[str, str]:
    when = datetime.datetime(2013, 1, 1, 5) + datetime.timedelta(days=rng.randrange(365), minutes=rng.randrange(1080))
    carrier, dest = rng.choice(list(CARRIERS)), rng.choice(list(DISTANCES))
    odds = CARRIERS[carrier] + 0.22 * (when.hour - 14) + (0.9 if when.month in (1, 6, 7, 12) else -0.3)
    return {
        "departs": when.strftime("%m/%d/%Y %I:%M %p"),
        "carrier": carrier,
        "tailnum": f"N{rng.randrange(100, 999)}{carrier}",
        "origin": rng.choice(["EWR", "JFK", "LGA"]),
        "dest": dest,
        "distance": DISTANCES[dest] if rng.random() > 0.03 else "",
        "late": "yes" if rng.random() < 1 / (1 + 2.718281828**-odds) else "no",
    }


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "flights.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(flight()))
        writer.writeheader()
        writer.writerows(flight() for _ in range(4000))
    model = NaiveBayes().fit(path, target="late").save(Path(folder) / "late.tally")
    model = tallybayes.load(Path(folder) / "late.tally")

print(model.overview().verdict)
for column in model.schema_.columns:
    print(f"{column.name:18} {column.kind}")
print()
for name, nats in list(model.importance_.items())[:4]:
    print(f"{name:18} {nats:.3f}")
print()
# A day that is later than all that were learned: its month and its hour are known.
print(model.explain({"departs": "12/19/2014 08:45 PM", "carrier": "EV", "dest": "LAX", "distance": "2,475 mi"}))
