"""Benchmarks and test bed with real servers, for developers of kubewasp. Not part of the installed package.

Private: not part of the documented API.
"""
