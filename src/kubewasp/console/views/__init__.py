"""Views of the console: plain functions from pictures, studies and facts to JSON documents, one module a view.

Private: not part of the documented API.
"""
