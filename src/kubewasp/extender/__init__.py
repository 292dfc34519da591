"""An HTTP extender: kube-scheduler keeps its job and asks our plugins."""
