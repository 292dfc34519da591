module kubewasp.test/allhooks

go 1.24
