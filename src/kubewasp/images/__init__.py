"""Container images of wasm programs: building, reading, and the program, arguments and files that an image holds.

Everything read from an image is untrusted: sizes, names and links are bounded and checked before use.
Private: not part of the documented API.
"""
