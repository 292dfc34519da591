// Package kubewasp is for writing Kubernetes scheduler plugins that kubewasp runs as WebAssembly.
//
// A plugin is one value with a method for each extension point that it takes part in: see [Filter], [Score], [Permit] and
// the other interfaces. [Register] says how it is made:
//
//	package main
//
//	import kubewasp "kubewasp.dev/sdk"
//
//	// SpotOnly keeps pods off nodes that are not spot nodes.
//	type SpotOnly struct{}
//
//	func New(*kubewasp.Handle) (SpotOnly, error) { return SpotOnly{}, nil }
//
//	func (SpotOnly) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
//		if node.Labels().Get("lifecycle") != "spot" {
//			return kubewasp.Unresolvable("node is no spot node")
//		}
//		return kubewasp.Success()
//	}
//
//	func init() { kubewasp.Register(New) }
//
//	func main() {}
//
// `kubewasp plugin build` compiles it. It can be tested natively, with plain `go test`: see package kubewasptest.
//
// # What is cheap
//
// Pod, Node and NodeInfo are views: only what is asked for is decoded. What is decoded of a node is kept until the node
// changes, so asking again costs next to nothing; [NodeCache] does the same for what you make of it. Looking up a label is
// a walk along a short list. Numbers of a node (Allocatable, Requested) are read without decoding anything.
//
// # Memory and time
//
// An instance of the guest serves one pod at a time, from PreFilter to PostBind; other pods have other instances. So
// package variables are not shared between pods, and nothing needs a lock. Do not start goroutines: they would run only
// while a hook runs. Use [Handle.Now] for the time.
package kubewasp
