"""Records and their algebra: no input or output."""
