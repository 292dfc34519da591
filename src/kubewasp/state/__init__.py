"""Cluster state: the node table with its indexes, and the store of all other objects.

Written by the single thread of a scheduler; readers get read-only views.

Private: not part of the documented API.
"""
