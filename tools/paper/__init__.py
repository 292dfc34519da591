"""Reproduction of a published experiment: six policies of GPU sharing on a production trace.

Q. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX
ATC 2023. The trace is not part of this repository: its folder is an argument.
"""
