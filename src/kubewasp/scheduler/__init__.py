"""Scheduling: cluster events, queue, cycle, waiting pods and binding; `composition` connects them.

Private: not part of the documented API.
"""
