module kubewasp.test/nodenumber

go 1.24
