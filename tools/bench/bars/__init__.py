"""Speed and memory bars of single parts (codec, host, cycle, SDK guests, console, web, registry, trust), measured in one run.

Each module has one part: a generator `bars` of measured `Bar` values.
Private: not part of the documented API.
"""
