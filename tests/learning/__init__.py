"""How a table is read: bins, families, weights and pairs."""
