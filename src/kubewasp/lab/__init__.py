"""The policy lab: workloads and policies tried in a simulated cluster, measured, compared, and replayed.

A package for each kind of question; `traces` and `experiments` are what the others are made of.
Private: not part of the documented API.
"""
