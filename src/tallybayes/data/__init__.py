"""Where rows come from: frames, arrays, files and the tables of other engines."""
