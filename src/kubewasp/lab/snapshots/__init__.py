"""Snapshots of a real cluster: the kept fields, their anonymisation, and the file.

Private: not part of the documented API.
"""
