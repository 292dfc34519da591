"""Studies of many experiments: sweeps and searches, their documents, results by content, and tables.

Private: not part of the documented API.
"""
