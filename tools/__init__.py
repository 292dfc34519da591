"""Developers' tools: benchmarks and the test bed with real servers. Not part of the wheel."""
