"""The console: a web page and its JSON API over the state of a scheduler, a simulation or a comparison.

Private: not part of the documented API.
"""
