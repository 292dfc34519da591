"""The HTTP extender: kube-scheduler keeps its job and calls our plugins.

Private: not part of the documented API.
"""
