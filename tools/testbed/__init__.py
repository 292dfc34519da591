"""A real Kubernetes API server with etcd, kube-scheduler and nodes without machines: for tests and benchmarks."""
