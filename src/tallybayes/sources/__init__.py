"""Where rows come from; each source yields encoded batches or counts where the data lives."""

from tallybayes.sources.arrays import is_array, tally_array
from tallybayes.tally import SOURCES, Tally

SOURCES.append((is_array, tally_array))

__all__ = ["Tally"]
