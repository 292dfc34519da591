module kubewasp.dev/bench/report

go 1.24
