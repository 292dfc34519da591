"""Experiments: one input, one candidate and one seed, run in this process, in others or on a cluster, and measured.

Private: not part of the documented API.
"""
