module kubewasp.dev/bench/guest/nodenumber

go 1.24
