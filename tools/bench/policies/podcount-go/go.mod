module podcount

go 1.24

require kubewasp.dev/sdk v0.0.0
