// Package core has all fields of Pod and Node as typed methods, generated from the Kubernetes API.
//
//	spec := core.PodOf(pod).Spec()
//	for _, volume := range spec.Volumes() {
//		if source := volume.VolumeSource(); source.HasHostPath() {
//			return kubewasp.Unresolvable("host path " + source.HostPath().Path())
//		}
//	}
//
// A value is the encoded message itself; a method decodes its field on each call. Methods that a guest does not call are
// not linked into it. Types of package kubewasp have the fields that most policies read, and keep decoded ones.
package core

import (
	"strconv"

	kubewasp "kubewasp.dev/sdk"
)

// PodOf returns the pod with all its fields.
func PodOf(pod *kubewasp.Pod) Pod { return Pod(pod.Proto()) }

// NodeOf returns the node with all its fields, a copy of the object. If you need it for every node, keep derived values in
// a kubewasp.NodeCache.
func NodeOf(node *kubewasp.NodeInfo) Node { return Node(node.Proto()) }

// IntOrString is an encoded number or text, such as a port or its name.
type IntOrString kubewasp.Message

// IsString reports whether the value is a text.
func (v IntOrString) IsString() bool { return kubewasp.Message(v).Int(1) == 1 }

// IntVal returns the number.
func (v IntOrString) IntVal() int32 { return int32(kubewasp.Message(v).Int(2)) }

// StrVal returns the text.
func (v IntOrString) StrVal() string { return kubewasp.Message(v).Text(3) }

// String returns the text, or the number in decimal digits.
func (v IntOrString) String() string {
	if v.IsString() {
		return v.StrVal()
	}
	return strconv.Itoa(int(v.IntVal()))
}

func list[M ~string](message kubewasp.Message, field int) []M {
	var found []M
	for item := range message.Subs(field) {
		found = append(found, M(item))
	}
	return found
}

func numbers[N int32 | int64](message kubewasp.Message, field int) []N {
	var found []N
	for _, number := range message.Ints(field) {
		found = append(found, N(number))
	}
	return found
}
