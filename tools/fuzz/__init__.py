"""Fuzz targets: a module per input format, with `seeds()` and `fuzz_one(data)`. Not in the wheel."""
