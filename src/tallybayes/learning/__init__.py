"""How a model is learned from rows."""
