"""Wasm guests as scheduler plugins: loading, limits, calls of their hooks, and the plugin of the framework.

The packages `core` and `component` run the two kinds of guests; the modules here are common to both.
Public API are `Guest`, `Limits`, `Evaluation` and the results of hooks (guest.py, limits.py, evaluation.py,
hook_results.py); all else is private.
"""
