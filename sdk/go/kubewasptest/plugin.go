//go:build !wasip1

// Package kubewasptest runs a plugin natively, in plain `go test`, on a cluster made of struct literals:
//
//	func TestKeepsPodsOffOtherNodes(t *testing.T) {
//		cluster := kubewasptest.NewCluster(
//			kubewasptest.Node{Name: "a", Labels: map[string]string{"lifecycle": "spot"}},
//			kubewasptest.Node{Name: "b"},
//		)
//		plugin := kubewasptest.Load(t, cluster, New, `{"label": "lifecycle"}`)
//
//		result := plugin.Schedule(kubewasptest.Pod{Name: "web"})
//
//		if result.Node != "a" {
//			t.Errorf("web is on %q, want a: %v", result.Node, result.Rejected)
//		}
//	}
//
// Schedule runs a whole cycle of a pod with this plugin alone; Cycle calls single hooks.
package kubewasptest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/internal/bridge"
	"kubewasp.dev/sdk/internal/host"
)

// Plugin is a plugin under test. As in the scheduler, each pod in flight has an instance of its own. Here the instances
// share package variables; in wasm they do not.
type Plugin struct {
	t          testing.TB
	cluster    *Cluster
	name       string // of its type
	config     string
	make       func(*kubewasp.Handle) (any, error)
	idle       []*Cycle
	waiting    []*waitingPod
	logs       []string
	events     []kubewasp.Event
	registered []kubewasp.ClusterEvent
	hooks      uint32
}

// Load creates a plugin with its configuration. The test ends on an error.
func Load[P any](t testing.TB, cluster *Cluster, factory func(*kubewasp.Handle) (P, error), config string) *Plugin {
	t.Helper()
	plugin, err := load(t, cluster, factory, config)
	if err != nil {
		t.Fatalf("the plugin cannot be loaded: %v", err)
	}
	return plugin
}

// LoadError returns the error of a plugin for a configuration; nil if it is accepted.
func LoadError[P any](t testing.TB, cluster *Cluster, factory func(*kubewasp.Handle) (P, error), config string) error {
	t.Helper()
	_, err := load(t, cluster, factory, config)
	return err
}

func load[P any](t testing.TB, cluster *Cluster, factory func(*kubewasp.Handle) (P, error), config string) (*Plugin, error) {
	t.Helper()
	plugin := &Plugin{t: t, cluster: cluster, name: typeName[P](), config: config}
	plugin.make = func(handle *kubewasp.Handle) (any, error) {
		made, err := factory(handle)
		if err == nil {
			checkMethods(t, made)
		}
		return made, err
	}
	first, err := plugin.instance()
	if err != nil {
		return nil, err
	}
	plugin.hooks = first.host.hooks
	plugin.idle = append(plugin.idle, first)
	if first.has("enqueue") {
		first.guest.Enqueue()
	}
	return plugin, nil
}

func typeName[P any]() string {
	kind := reflect.TypeFor[P]()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.Name()
}

func (p *Plugin) instance() (*Cycle, error) {
	fake := newInstance(p)
	guest, err := bridge.Load(host.Host(fake), p.make)
	if err != nil {
		return nil, err
	}
	return &Cycle{plugin: p, host: fake, guest: guest}, nil
}

// acquire returns a free instance.
func (p *Plugin) acquire() *Cycle {
	if last := len(p.idle) - 1; last >= 0 {
		cycle := p.idle[last]
		p.idle = p.idle[:last]
		return cycle
	}
	cycle, err := p.instance()
	if err != nil {
		p.t.Fatalf("another instance of the plugin cannot be made: %v", err)
	}
	return cycle
}

func (p *Plugin) release(cycle *Cycle) {
	if !slices.Contains(p.idle, cycle) {
		p.idle = append(p.idle, cycle)
	}
}

// Hooks returns the names of the implemented hooks, as in `kubewasp plugin inspect`.
func (p *Plugin) Hooks() []string {
	var names []string
	for bit, name := range bridge.Hooks {
		if p.hooks&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// RegisteredEvents returns the result of EventsToRegister.
func (p *Plugin) RegisteredEvents() []kubewasp.ClusterEvent { return p.registered }

// Logs returns the lines logged so far: I, W or E, and the text, e.g. `I "placed" node="a"`.
func (p *Plugin) Logs() []string { return p.logs }

// Events returns the events recorded so far.
func (p *Plugin) Events() []kubewasp.Event { return p.events }

// PreEnqueue calls PreEnqueue for a pod.
func (p *Plugin) PreEnqueue(pod Pod) kubewasp.Status {
	cycle := p.acquire()
	defer p.release(cycle)
	if !cycle.has("preenqueue") {
		return kubewasp.Success()
	}
	cycle.host.pod = pod.Encode()
	return cycle.status(cycle.guest.PreEnqueue)
}

// SortKey returns the sort key of a pod.
func (p *Plugin) SortKey(pod Pod, queuedAt time.Time) []byte {
	p.t.Helper()
	cycle := p.acquire()
	defer p.release(cycle)
	cycle.need("queuesort")
	cycle.host.pod, cycle.host.queuedAt = pod.Encode(), queuedAt.UnixNano()
	if status := cycle.status(cycle.guest.QueueSort); !status.IsSuccess() {
		p.t.Fatalf("SortKey: %v", status)
	}
	return cycle.host.sortKey
}

// QueueOrder returns the queue order of pods that were queued one second apart.
func (p *Plugin) QueueOrder(pods ...Pod) []string {
	p.t.Helper()
	type queued struct {
		name string
		key  []byte
	}
	queue := make([]queued, len(pods))
	for i, pod := range pods {
		queue[i] = queued{pod.Name, p.SortKey(pod, p.cluster.now.Add(time.Duration(i)*time.Second))}
	}
	slices.SortStableFunc(queue, func(a, b queued) int { return bytes.Compare(a.key, b.key) })
	names := make([]string, len(queue))
	for i, pod := range queue {
		names[i] = pod.name
	}
	return names
}

// Change is a change of the cluster, for QueueingHint.
type Change struct {
	resource      kubewasp.EventResource
	action        kubewasp.EventAction
	before, after kubewasp.Message
}

// NodeAdded returns the change of a new node.
func NodeAdded(node Node) Change {
	return Change{resource: kubewasp.EventNode, action: kubewasp.Add, after: node.Encode()}
}

// NodeChanged returns the change of an updated node.
func NodeChanged(before, after Node, action kubewasp.EventAction) Change {
	return Change{kubewasp.EventNode, action, before.Encode(), after.Encode()}
}

// PodDeleted returns the change of a deleted pod.
func PodDeleted(pod Pod) Change {
	return Change{resource: kubewasp.EventPod, action: kubewasp.Delete, before: pod.Encode()}
}

// PodAdded returns the change of a new pod.
func PodAdded(pod Pod) Change {
	return Change{resource: kubewasp.EventPod, action: kubewasp.Add, after: pod.Encode()}
}

// PodChanged returns the change of an updated pod.
func PodChanged(before, after Pod, action kubewasp.EventAction) Change {
	return Change{kubewasp.EventPod, action, before.Encode(), after.Encode()}
}

// QueueingHint calls QueueingHint for a rejected pod and a change.
func (p *Plugin) QueueingHint(pod Pod, change Change) kubewasp.Hint {
	p.t.Helper()
	cycle := p.acquire()
	defer p.release(cycle)
	cycle.need("queueinghint")
	cycle.host.pod, cycle.host.change = pod.Encode(), change
	return kubewasp.Hint(cycle.guest.QueueingHint())
}

func decodeEvent(t testing.TB, text []byte) kubewasp.Event {
	var sent struct {
		RegardingReference, RelatedReference kubewasp.ObjectReference
		Eventtype, Reason, Action, Note      string
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Errorf("the event is no JSON: %v: %s", err, text)
	}
	return kubewasp.Event{
		Regarding: sent.RegardingReference,
		Related:   sent.RelatedReference,
		Type:      sent.Eventtype,
		Reason:    sent.Reason,
		Action:    sent.Action,
		Note:      sent.Note,
	}
}
