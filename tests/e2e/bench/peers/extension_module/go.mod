// Stands in for the module of the same name where that cannot be had: the signatures that our program uses, no more.
module sigs.k8s.io/kube-scheduler-wasm-extension/scheduler

go 1.24.0

require (
	k8s.io/api v0.33.4
	k8s.io/kubernetes v1.33.4
)
