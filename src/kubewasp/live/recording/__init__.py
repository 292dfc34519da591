"""Recording of a live scheduler: everything its thread takes in, in order, and everything it decides.

`recorder` taps the thread, `writer` writes segments on another one, `segments` and `entries` are the format.
Private: not part of the documented API.
"""
