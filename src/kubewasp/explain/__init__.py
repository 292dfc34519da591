"""Explanations of scheduling decisions, from a record or by a dry run.

Private: not part of the documented API.
"""
