"""From a file to a model file, and from rows to predictions, without ever holding the table."""

import tempfile
from pathlib import Path

import polars as pl

from tallybayes import NaiveBayes, load, storage, tally
from tallybayes.data import datasets

here = Path(tempfile.mkdtemp())
birds = pl.DataFrame(datasets.penguins())
for year in (2007, 2008, 2009):
    birds.filter(pl.col("year") == year).write_parquet(here / f"birds-{year}.parquet")

# A pattern stands for all files; DuckDB counts them where they are.
model = NaiveBayes(drop=["year"]).fit(here / "birds-*.parquet", target="species")
print(model.tally_)

# The file is small, holds no code, and is checked when it is read.
model.save(here / "birds.tally")
print(f"{(here / 'birds.tally').stat().st_size:,} bytes; the same predictions:", end=" ")
print((load(here / "birds.tally").predict(birds) == model.predict(birds)).all())

# A tally a year, added: the model of all years, and of all but one.
tallies = [tally(here / f"birds-{year}.parquet", target="species", drop=["year"]) for year in (2007, 2008, 2009)]
print("All years:", sum(tallies))
storage.write(sum(tallies) - tallies[0], here / "without-2007.tally")
print("Without 2007:", storage.read(here / "without-2007.tally").tally)

# Predictions beside the rows, with reasons; any size of file.
n = model.predict_file(here / "birds-2009.parquet", here / "answers.csv", beside=False, top=1, reasons=1)
print(f"{n} predictions:")
print(*(here / "answers.csv").read_text().splitlines()[:3], sep="\n")
