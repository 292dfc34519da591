"""Example of a vendored pure-Python package in a project's folder."""
