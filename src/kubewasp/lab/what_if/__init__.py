"""Questions about a cluster: drain, remove, add, scale, how many, smallest set of nodes, upgrade.

Private: not part of the documented API.
"""
