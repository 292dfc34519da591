"""Built-in plugins of the scheduling framework, one module each, with the names and results of kube-scheduler.

The registration table is `kubewasp.framework.config.default_plugins`.

Private: not part of the documented API.
"""
