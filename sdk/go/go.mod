module kubewasp.dev/sdk

go 1.24
