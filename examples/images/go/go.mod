module kubewasp.dev/examples/images/greet

go 1.24
