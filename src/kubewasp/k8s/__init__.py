"""Kubernetes objects: scheduling views, manifests, quantities, selectors, and the protobuf codec.

It depends on nothing but errors and has no state.

Private: not part of the documented API.
"""
