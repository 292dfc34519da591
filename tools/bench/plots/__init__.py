"""Pictures of a result, written as SVG by ourselves: small, the same bytes every time, readable in light and dark."""
