module example.com/gang

go 1.24

// The SDK comes with kubewasp: `kubewasp plugin build` and `kubewasp plugin test` supply it.
require kubewasp.dev/sdk v0.0.0
