"""The speed and memory bars of kubewasp, measured side by side in one run: `make bars`."""
