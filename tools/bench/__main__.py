"""`python -m tools.bench`."""

from tools.bench.cli import app

app()
