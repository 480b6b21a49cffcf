"""A ledger of tallies by period and key, in one file."""

from tallybayes.storage.ledger.chain import LedgerReceipt, Verification
from tallybayes.storage.ledger.ledger import Appender, Ledger

__all__ = ["Appender", "Ledger", "LedgerReceipt", "Verification"]
