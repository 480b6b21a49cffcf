"""The JSON form of a scorer, evaluated row by row in plain Python as the documentation of the form says."""

import math
from bisect import bisect_left, bisect_right

NOTHING = None
FAR = 1e9


def probabilities(scorer, row):
    """P(y | x) of a row, a dict of column to value; what it lacks is missing."""
    scores = list(numbers(scorer["prior"]))
    for term in scorer["terms"]:
        added = TERMS[term["is"]](term, row)
        if added is not NOTHING:
            scores = [s + a for s, a in zip(scores, added, strict=True)]
    if max(scores) == -math.inf:
        scores = list(numbers(scorer["fallback"]))
    logs = log_softmax(scores)
    calibration = scorer["calibration"]
    return [math.exp(p) for p in logs] if calibration is None else CALIBRATIONS[calibration["is"]](calibration, logs)


def numbers(values):
    return [numbers(v) if isinstance(v, list) else float(v) for v in values]


def log_softmax(scores):
    top = max(scores)
    total = math.log(sum(math.exp(s - top) for s in scores))
    return [s - top - total for s in scores]


def value_of(row, column):
    value = row.get(column)
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else value


def by_level(term, row):
    value = value_of(row, term["column"])
    if value is None:
        return numbers(term["missing"])
    return numbers(term["scores"][term["levels"].index(value)] if value in term["levels"] else term["unseen"])


def by_bin(term, row):
    value = value_of(row, term["column"])
    find = bisect_left if term["above"] else bisect_right
    return NOTHING if value is None else numbers(term["scores"][find(term["edges"], value)])


def place(part, row):
    value = value_of(row, part["column"])
    if value is None:
        return part["missing"]
    if part["edges"] is not None:
        return bisect_right(part["edges"], value)
    return part["levels"].index(value) if value in part["levels"] else None


def by_pair(term, row):
    a, b = (place(part, row) for part in term["parts"])
    return NOTHING if a is None or b is None else numbers(term["scores"][a][b])


def normal(term, row):
    value = value_of(row, term["column"])
    if value is None or (term["log"] and value <= 0):
        return NOTHING
    x = math.log(value) if term["log"] else float(value)
    parts = zip(*(numbers(term[name]) for name in ("mean", "precision", "log_norm")), strict=True)
    return [norm - 0.5 * (x - mean) * (x - mean) * precision for mean, precision, norm in parts]


def spike(term, row):
    value = value_of(row, term["column"])
    if value is None:
        return NOTHING
    if value == 0:
        return numbers(term["zero"])
    rest = normal(term["rest"], row)
    other = numbers(term["other"])
    return other if rest is NOTHING else [a + b for a, b in zip(other, rest, strict=True)]


def times(slope, x):
    return 0.0 if x == 0 else slope * x


def line(term, row):
    value = value_of(row, term["column"])
    if value is None or (term["least"] is not None and value < term["least"]):
        return NOTHING
    return [o + times(s, value) for s, o in zip(numbers(term["slope"]), numbers(term["offset"]), strict=True)]


def formula(term, row):
    value = value_of(row, term["column"])
    if value is None or (term["above"] is not None and not value > term["above"]):
        return NOTHING
    return expression(term["expression"], float(value))


def expression(given, x):
    if given == "x":
        return [x]
    if given[0] not in ("add", "mul", "log"):
        return numbers(given)
    parts = [expression(each, x) for each in given[1:]]
    n = max(map(len, parts))
    combine = {"add": sum, "mul": math.prod, "log": lambda values: math.log(values[0])}[given[0]]
    return [combine([part[k % len(part)] for part in parts]) for k in range(n)]


def bag(term, row):
    counts = [float(row[column]) for column in term["columns"]]
    total = sum(counts)
    if term["length"] is not None and total > 0:
        counts = [x * (term["length"] / total) for x in counts]
    slopes = zip(*numbers(term["slopes"]), strict=True)
    return [sum(times(s, x) for s, x in zip(of_class, counts, strict=True)) for of_class in slopes]


def ellipsoid(term, row):
    x, out = [float(row[column]) for column in term["columns"]], []
    for mean, axes, log_norm in zip(term["mean"], term["axes"], term["log_norm"], strict=True):
        z = [(v - m) / s for v, m, s in zip(x, mean, term["scale"], strict=True)]
        along = [sum(a * b for a, b in zip(z, axis, strict=True)) for axis in zip(*axes, strict=True)]
        out.append(log_norm - 0.5 * sum(v * v for v in along))
    return out


def together(term, row):
    if any(row.get(column) is None or math.isnan(row[column]) for column in term["columns"]):
        return NOTHING
    x, n, far, out = [float(row[column]) for column in term["columns"]], term["degrees"], term["farthest"], []
    z = [min(max((v - c) / s, -far), far) for v, c, s in zip(x, term["centre"], term["scale"], strict=True)]
    classes = zip(term["mean"], term["axes"], term["precision"], term["log_norm"], strict=True)
    for mean, axes, precision, log_norm in classes:
        u = [v - m for v, m in zip(z, mean, strict=True)]
        alone = sum(math.log1p(v * v * p / n) for v, p in zip(u, precision, strict=True))
        along = [sum(a * b for a, b in zip(u, axis, strict=True)) for axis in zip(*axes, strict=True)]
        both = math.log1p(sum(v * v for v in along) / n)
        out.append(term["power"] * (log_norm + 0.5 * (n + 1) * alone - 0.5 * (n + len(u)) * both))
    return out


def temperature(calibration, logs):
    return [math.exp(p) for p in log_softmax([p / calibration["temperature"] for p in logs])]


def log_odds(logs, k):
    others = [p for j, p in enumerate(logs) if j != k]
    top = max(others)
    against = -math.inf if top == -math.inf else top + math.log(sum(math.exp(p - top) for p in others))
    if logs[k] == against == -math.inf:
        return -FAR
    return min(max(logs[k] - against, -FAR), FAR)


def interpolated(curve, at):
    xs, ys = curve["log_odds"], curve["probability"]
    i = bisect_right(xs, at)
    if i == 0 or i == len(xs):
        return ys[0 if i == 0 else -1]
    slope = (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1])
    return slope * (at - xs[i - 1]) + ys[i - 1]


def isotonic(calibration, logs):
    curves, margin = calibration["curves"], calibration["margin"]
    evaluated = range(len(logs)) if len(curves) > 1 else [1]
    own = [interpolated(c, log_odds(logs, k)) for c, k in zip(curves, evaluated, strict=True)]
    own = [min(max(p, margin), 1.0 - margin) for p in own]
    own = [1.0 - own[0], own[0]] if len(curves) == 1 else own
    return [p / sum(own) for p in own] if sum(own) > 0 else [math.exp(p) for p in logs]


TERMS = {
    "levels": by_level,
    "bins": by_bin,
    "pair": by_pair,
    "normal": normal,
    "spike": spike,
    "line": line,
    "formula": formula,
    "bag": bag,
    "ellipsoid": ellipsoid,
    "together": together,
}
CALIBRATIONS = {"temperature": temperature, "isotonic": isotonic}
