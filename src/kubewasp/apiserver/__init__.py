"""Everything that speaks to a Kubernetes API server: credentials, requests, list and watch, leader election."""
