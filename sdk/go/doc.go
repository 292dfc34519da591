// Package kubewasp is an SDK for Kubernetes scheduler plugins that run as WebAssembly in kubewasp.
//
// A plugin is one value with a method per extension point: see [Filter], [Score], [Permit] and the other interfaces.
// [Register] registers its constructor:
//
//	package main
//
//	import kubewasp "kubewasp.dev/sdk"
//
//	// SpotOnly rejects nodes that are not spot nodes.
//	type SpotOnly struct{}
//
//	func New(*kubewasp.Handle) (SpotOnly, error) { return SpotOnly{}, nil }
//
//	func (SpotOnly) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
//		if node.Labels().Get("lifecycle") != "spot" {
//			return kubewasp.Unresolvable("not a spot node")
//		}
//		return kubewasp.Success()
//	}
//
//	func init() { kubewasp.Register(New) }
//
//	func main() {}
//
// `kubewasp plugin build` compiles a plugin. Package kubewasptest runs it natively, in plain `go test`.
//
// # Cost
//
// Pod, Node and NodeInfo are views: fields are decoded on first use. Decoded fields of a node are kept until the node
// changes, so that further reads cost next to nothing; [NodeCache] does the same for derived values. A label lookup is a
// scan of a short list. Amounts of a node (Allocatable, Requested) are read without decoding.
//
// # Memory and time
//
// An instance of the guest serves one pod at a time, from PreFilter to PostBind; other pods have other instances. Package
// variables are therefore not shared between pods, and no locks are needed. Do not start goroutines: they run only during
// a hook. Use [Handle.Now] for the time.
package kubewasp
