"""Client of the Kubernetes API server: credentials, HTTP connections, list and watch, writes, leader election.

Objects stay protobuf bytes here; their meaning belongs to `kubewasp.k8s`.

Private: not part of the documented API.
"""
