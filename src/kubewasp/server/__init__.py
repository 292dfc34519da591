"""Operation of a running process: health, metrics, logs, recorded decisions, HTTP server.

Private: not part of the documented API.
"""
