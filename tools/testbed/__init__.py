"""Real Kubernetes servers on loopback (etcd, kube-apiserver, kube-scheduler) and nodes without machines.

Used by end-to-end tests and benchmarks.
Private: not part of the documented API.
"""
