"""Speed and memory bars of single parts, such as codec, host, cycle, console and registry, measured in one run.

Each module has one part: a generator `bars` of measured `Bar` values.
Private: not part of the documented API.
"""
