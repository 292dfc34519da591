module kubewasp.dev/bench/guest/labels

go 1.24
