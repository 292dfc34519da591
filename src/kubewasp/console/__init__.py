"""The console: a JSON API and a page over running schedulers, simulations, recordings and comparisons.

Private: not part of the documented API.
"""
