"""Comparison of candidates on the same input: changes of measures, pods with another fate, causes, and the page.

Private: not part of the documented API.
"""
