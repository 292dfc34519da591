"""The forms in which a policy can run, one module for each kind, all with the interface of form.py."""
