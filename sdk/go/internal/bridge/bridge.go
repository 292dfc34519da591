//go:build !wasip1

// Package bridge gives package kubewasptest access to the hooks of a plugin, with the semantics of a guest's exports.
package bridge

import "kubewasp.dev/sdk/internal/host"

// Guest has the hooks of a loaded plugin, with the results of a guest's exports.
type Guest struct {
	Enqueue, Unreserve, PostBind                   func()
	CloneState, SelectState, DropState             func()
	PreFilter, AddPod, RemovePod, Filter, PreScore func() int32
	NormalizeScore, Reserve, PreBind, Bind         func() int32
	PreEnqueue, QueueSort, QueueingHint            func() int32
	PostFilter, Score, Permit, SignPod             func() int64
}

// Load creates a plugin; set by package kubewasp. The factory is a func(*kubewasp.Handle) (any, error).
var Load func(of host.Host, factory any) (*Guest, error)

// Requests returns the effective request of an encoded pod; set by package kubewasp.
var Requests func(pod, resource string) int64

// Hooks are the names of the hooks, by their bit.
var Hooks = []string{
	"enqueue", "prefilter", "addpod", "removepod", "filter", "postfilter", "prescore", "score", "normalizescore", "reserve",
	"unreserve", "permit", "prebind", "bind", "postbind", "preenqueue", "queuesort", "queueinghint", "clonestate",
	"selectstate", "dropstate", "signpod",
}
