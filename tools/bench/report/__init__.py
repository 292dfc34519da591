"""Report of a result: a Markdown page and its charts. Everything follows from the result alone.

Private: not part of the documented API.
"""
