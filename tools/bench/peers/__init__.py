"""Peers of the plugin layer: other hosts of the classic ABI, each beside kubewasp with the same guest file.

Private: not part of the documented API.
"""
