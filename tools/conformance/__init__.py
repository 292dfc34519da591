"""Conformance with kube-scheduler-wasm-extension: that project's committed guests, called hook by hook.

`make conformance GUESTS=DIR` runs them; the guests are not part of this repository.
Private: not part of the documented API.
"""
