"""OCI registries: references, manifests, client, credentials, local store, layouts, formats of wasm artifacts.

Synchronous, and independent of the scheduler and of the wasm runtime.

Private: not part of the documented API.
"""
