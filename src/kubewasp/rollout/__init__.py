"""New versions of plugins while a process runs: noticed, staged, tried, swapped in, rolled back.

The swap itself is the scheduler's (`scheduler/scheduler.py`); here are the decisions.
Private: not part of the documented API.
"""
