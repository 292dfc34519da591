"""Forms of a policy: built in, in process, guests, Python callbacks, extender. One module for each kind.

All of them implement the interface of form.py.
Private: not part of the documented API.
"""
