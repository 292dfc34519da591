"""Fuzz targets: a module per target, with `one(data)`, which returns for every input, and `seeds()`."""
