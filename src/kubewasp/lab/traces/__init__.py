"""Traces: tables of pods that arrive, run and end, read row by row, changed, generated, and run.

Private: not part of the documented API.
"""
