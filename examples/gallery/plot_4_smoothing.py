"""
Smoothing from nothing to everything
====================================

Fourteen days of tennis. Without smoothing a count of zero vetoes a class for ever: it was never overcast on a day
without play. A pseudocount of 1 (Laplace) leaves a doubt; a huge one drowns the columns, and what is left is the
prior. Changing it costs nothing: the counts stay as they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from tallybayes import NaiveBayes, plots
from tallybayes.data import datasets

table = datasets.tennis()
play = table.pop("play")
day = {"outlook": "overcast", "temperature": "mild", "humidity": "high", "wind": "strong"}
overcast = dict.fromkeys(table) | {"outlook": "overcast"}  # all else unknown
alphas = np.logspace(-3, 4, 60)

posterior, chance, losses = [], [], []
for alpha in alphas:
    model = NaiveBayes(classical=True, alpha=alpha).fit(table, play)
    posterior.append(model.predict_proba([day])[0, 0])
    chance.append(model.predict_proba([overcast])[0, 0])
    losses.append(float(model.evaluate(table, play).log_loss))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(alphas, posterior, color=plots.COLOURS[0], label="P(no | overcast, mild, high, strong)")
left.plot(alphas, chance, "--", color=plots.COLOURS[1], label="P(no | overcast)")
left.axhline(5 / 14, color="grey", linewidth=0.8)
left.annotate("the prior, 5/14", (alphas[0], 5 / 14), va="bottom", fontsize="small")
left.set(xscale="log", xlabel="pseudocount", ylabel="probability", ylim=(0, 0.6))
right.plot(alphas, losses, color=plots.COLOURS[0])
right.set(xscale="log", xlabel="pseudocount", ylabel="log loss, leave-one-out")
left.legend(frameon=False, fontsize="small")
for ax in (left, right):
    ax.axvline(1.0, color="grey", linewidth=0.8, linestyle=":")
    ax.spines[["top", "right"]].set_visible(False)
without = NaiveBayes(classical=True, alpha=0).fit(table, play).predict_proba([day])[0, 0]
print(f"P(no) of an overcast day: {without:.3f} without smoothing, {posterior[-1]:.3f} when it drowns the columns")
plt.show()
