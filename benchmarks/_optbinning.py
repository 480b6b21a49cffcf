"""Fit optbinning and a logistic regression on folds of a table and write what they say; needs nothing of tallybayes.

``python _optbinning.py FOLDER``: reads table.csv and about.json, writes answer.json.
"""

import json
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from optbinning import BinningProcess
from sklearn.linear_model import LogisticRegression

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1])
    about = json.loads((place / "about.json").read_text())
    table = pd.read_csv(place / "table.csv", keep_default_na=False, na_values=[""])
    y = np.array(about["y"])
    categories = about["categories"]
    table = table.assign(**{name: table[name].astype(object) for name in categories})
    answers, seconds = [], []
    for rows in about["test"]:
        train = np.setdiff1d(np.arange(len(y)), rows)
        start = process_time()
        bins = BinningProcess(list(table.columns), categorical_variables=categories, max_n_bins=about["max_bins"])
        model = LogisticRegression(max_iter=1000).fit(bins.fit_transform(table.iloc[train], y[train]), y[train])
        seconds.append(process_time() - start)
        answers.append(model.predict_proba(bins.transform(table.iloc[rows]))[:, 1].tolist())
    (place / "answer.json").write_text(json.dumps({"p": answers, "seconds": seconds}))
