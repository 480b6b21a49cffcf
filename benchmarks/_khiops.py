"""Fit Khiops on train.csv of a folder and write what it says of test.csv; needs nothing but khiops."""

import json
import sys
from pathlib import Path
from time import perf_counter

import pandas as pd
from khiops.sklearn import KhiopsClassifier


def read(file: Path, numeric: list[str]) -> pd.DataFrame:
    table = pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=str)
    return table.assign(**{name: table[name].astype(float) for name in numeric})


if __name__ == "__main__":
    place = Path(sys.argv[1])
    about = json.loads((place / "about.json").read_text())
    train, test = (read(place / f"{name}.csv", about["numeric"]) for name in ("train", "test"))
    start = perf_counter()
    model = KhiopsClassifier().fit(train, about["y"])
    posterior = model.predict_proba(test)
    seconds = perf_counter() - start
    classes = [str(label) for label in model.classes_]
    answer = {"classes": classes, "posterior": posterior.tolist(), "seconds": seconds}
    (place / "answer.json").write_text(json.dumps(answer))
