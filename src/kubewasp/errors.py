"""Root of the error hierarchy."""

from __future__ import annotations


class KubewaspError(Exception):
    """Base of every error that the command line reports in one line; the text names the cause and the remedy."""
