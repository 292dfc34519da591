"""Replay of recordings: recorded turns decided again, differences by kind, and the cause of the first.

Private: not part of the documented API.
"""
