"""HTTP extender for kube-scheduler: plugins behind the verbs of the extender protocol.

Private: not part of the documented API.
"""
