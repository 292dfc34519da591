"""Scheduling framework: extension points, plugin runtime, handle, outcomes and decision record.

Public names are re-exported by `kubewasp.plugin_api`.

Private: not part of the documented API.
"""
