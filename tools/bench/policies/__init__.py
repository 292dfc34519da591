"""Benchmark policies: three policies, each built in, in process, and as guests in every language.

No form remembers answers: guests sign no pods, and pods differ. Every cycle evaluates all nodes.
Private: not part of the documented API.
"""
