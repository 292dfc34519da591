"""Charts of a result as SVG: small files, the same bytes on every machine, readable in light and dark.

Private: not part of the documented API.
"""
