"""Fit Khiops on train.csv of a folder and write what it says of test.csv; needs nothing but khiops."""

import json
import os
import sys
from pathlib import Path
from time import perf_counter

import pandas as pd
from khiops.sklearn import KhiopsClassifier

# Khiops looks for its programs on the path, where those of an environment that is not activated are not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# Its programs, three for a fit, each look for fast networks for a second, and here need none: memory will do.
os.environ.setdefault("OMPI_MCA_pml", "ob1")
os.environ.setdefault("OMPI_MCA_btl", "self,sm")
if (os.cpu_count() or 1) <= 2:  # of two processes one would only give orders; with two cores given, it starts one
    os.environ.setdefault("KHIOPS_PROC_NUMBER", "2")


def read(file: Path, numeric: list[str]) -> pd.DataFrame:
    # Objects are categories to Khiops, however long; a column of type str with a long value would be text.
    table = pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=object)
    return table.assign(**{name: table[name].astype(float) for name in numeric})


if __name__ == "__main__":
    place = Path(sys.argv[1])
    about = json.loads((place / "about.json").read_text())
    train, test = (read(place / f"{name}.csv", about["numeric"]) for name in ("train", "test"))
    start = perf_counter()
    model = KhiopsClassifier(**about["settings"]).fit(train, about["y"])
    posterior = model.predict_proba(test)
    seconds = perf_counter() - start
    classes = [str(label) for label in model.classes_]
    answer = {"classes": classes, "posterior": posterior.tolist(), "seconds": seconds}
    (place / "answer.json").write_text(json.dumps(answer))
