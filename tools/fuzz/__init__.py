"""Fuzzing: generated input for every reader of untrusted bytes. Not part of the package.

A target is a module with `seeds()` and `one(data)`. `one` returns a short label of the outcome; a label that is new
makes the input a seed. Any exception, signal or hang is a crash, whose input is kept as a file and becomes a test.
"""
