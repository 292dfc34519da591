"""Benchmarks: plugins in every form, whole scheduling beside kube-scheduler, counts, bars, comparison and report.

`python -m tools.bench --help` lists the commands; the Makefile has the usual ones.
Private: not part of the documented API.
"""
