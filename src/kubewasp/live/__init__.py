"""A scheduler on a real cluster: process, mirror of its state, owner thread, writes.

Private: not part of the documented API.
"""
