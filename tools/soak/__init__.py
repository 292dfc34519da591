"""Soak test: `kubewasp run` on a real API server for a long time, under load and under attack.

Pods come and go, guests misbehave, HTTP clients are hostile. Memory, threads, descriptors, CPU and pods per second
have to stay flat, and health has to answer.
Private: not part of the documented API.
"""
