//go:build !wasip1

// Package bridge lets package kubewasptest call the hooks of a plugin natively, just as the exports of a guest do.
package bridge

import "kubewasp.dev/sdk/internal/host"

// Guest has the hooks of a loaded plugin, with the results that they have in a guest.
type Guest struct {
	Enqueue, Unreserve, PostBind                   func()
	CloneState, SelectState, DropState             func()
	PreFilter, AddPod, RemovePod, Filter, PreScore func() int32
	NormalizeScore, Reserve, PreBind, Bind         func() int32
	PreEnqueue, QueueSort, QueueingHint            func() int32
	PostFilter, Score, Permit, SignPod             func() int64
}

// Load makes a plugin; package kubewasp sets it. The factory is a func(*kubewasp.Handle) (any, error).
var Load func(of host.Host, factory any) (*Guest, error)

// Requests is how much of a resource an encoded pod asks for; package kubewasp sets it.
var Requests func(pod, resource string) int64

// Hooks are the names of the hooks, by their bit.
var Hooks = []string{
	"enqueue", "prefilter", "addpod", "removepod", "filter", "postfilter", "prescore", "score", "normalizescore", "reserve",
	"unreserve", "permit", "prebind", "bind", "postbind", "preenqueue", "queuesort", "queueinghint", "clonestate",
	"selectstate", "dropstate", "signpod",
}
