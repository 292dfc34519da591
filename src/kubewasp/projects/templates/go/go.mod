module example.com/plugin-name

go 1.24

// The SDK ships with kubewasp; `kubewasp plugin build` and `kubewasp plugin test` provide it.
require kubewasp.dev/sdk v0.0.0
