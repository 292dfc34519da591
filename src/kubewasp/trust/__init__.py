"""Signatures of guests: keys, formats of cosign and Sigstore, and the policy that decides which guests may be loaded.

Nothing here reads from the network; `registry` and `wasm` bring signatures. Private: not part of the documented API.
"""
