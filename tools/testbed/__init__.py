"""Real servers on loopback (etcd, kube-apiserver, kube-scheduler, container registries) and nodes without machines.

Used by end-to-end tests and benchmarks.
Private: not part of the documented API.
"""
