//go:build !wasip1

package kubewasp

// start does nothing natively: tests make their plugins with package kubewasptest.
func start(Factory) {}
