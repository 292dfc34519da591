//go:build !wasip1

package kubewasp

import (
	"kubewasp.dev/sdk/internal/bridge"
	"kubewasp.dev/sdk/internal/host"
)

// start does nothing natively: tests create their plugins with package kubewasptest.
func start(maker) {}

func init() {
	bridge.Requests = func(pod, name string) int64 {
		resource := Resource{name: name}
		for _, known := range []Resource{CPU, Memory, EphemeralStorage, Pods} {
			if known.name == name {
				resource = known
			}
		}
		return NewPod(Message(pod)).Requests(resource)
	}
	bridge.Load = func(of host.Host, factory any) (*bridge.Guest, error) {
		g := newGuest(of)
		if err := g.load(factory.(maker)); err != nil {
			return nil, err
		}
		return &bridge.Guest{
			Enqueue:        g.runEnqueue,
			PreFilter:      g.runPreFilter,
			AddPod:         g.runAddPod,
			RemovePod:      g.runRemovePod,
			Filter:         g.runFilter,
			PostFilter:     g.runPostFilter,
			PreScore:       g.runPreScore,
			Score:          g.runScore,
			NormalizeScore: g.runNormalizeScore,
			Reserve:        g.runReserve,
			Unreserve:      g.runUnreserve,
			Permit:         g.runPermit,
			PreBind:        g.runPreBind,
			Bind:           g.runBind,
			PostBind:       g.runPostBind,
			PreEnqueue:     g.runPreEnqueue,
			QueueSort:      g.runQueueSort,
			QueueingHint:   g.runQueueingHint,
			CloneState:     g.runCloneState,
			SelectState:    g.runSelectState,
			DropState:      g.runDropState,
			SignPod:        g.runSignPod,
		}, nil
	}
}
