"""What kubewasp and its peers cost, measured side by side: plugins in every form, and whole scheduling."""
