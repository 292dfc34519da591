"""The policy lab: workloads from traces, run in a simulated cluster and measured.

A trace is a table of pods that arrive, run and end, read row by row. Private: not part of the documented API.
"""
