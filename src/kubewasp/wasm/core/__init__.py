"""Guests that are core modules: the ABI, the adapter inside the sandbox, instances and the shared memory of nodes.

An instance serves one pod at a time; its imports are answered by the adapter, without a call of Python per node.
Private: not part of the documented API.
"""
