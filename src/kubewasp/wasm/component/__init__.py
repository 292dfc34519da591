"""Guests that are components (WIT), such as Python plugins: engine, instance, sessions of pods and their protocol.

One instance serves all pods; each hook is one request and one answer in JSON lines.
Private: not part of the documented API.
"""
