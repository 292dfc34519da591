// Command gang is a scheduler plugin for pods that are of use only together: the pods of a gang wait until so many of them
// have a node, and then go there all at once. If one of them does not get there, none does.
package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	kubewasp "kubewasp.dev/sdk"
)

// What pods of a gang carry.
const (
	nameLabel         = "kubewasp.dev/gang"
	sizeLabel         = "kubewasp.dev/gang-size"
	timeoutAnnotation = "kubewasp.dev/gang-timeout" // instead of the configured one
)

const maxTimeout = 15 * time.Minute // no pod may wait longer, whatever a plugin says

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Timeout   string   `json:"timeout"`   // how long a pod waits for the others
	CheckRoom []string `json:"checkRoom"` // resources of which there must be enough for the whole gang before a pod waits at all
}

// gang is what a pod says of its gang. The zero value is that of a pod without one.
type gang struct {
	id
	size    int
	timeout time.Duration
}

// id names a gang.
type id struct {
	namespace, name string
}

func idOf(pod *kubewasp.Pod) id { return id{pod.Namespace(), pod.Labels().Get(nameLabel)} }

// gangs is the gang of the pod being scheduled.
var gangs = kubewasp.NewStateKey[gang]()

// Plugin schedules gangs. What it knows of other pods it asks the scheduler: pods do not share the memory of a plugin.
type Plugin struct {
	handle  *kubewasp.Handle
	timeout time.Duration
	checked []kubewasp.Resource
	members *kubewasp.NodeCache[map[id]int]
}

var (
	_ kubewasp.EnqueueExtensions = (*Plugin)(nil)
	_ kubewasp.QueueingHint      = (*Plugin)(nil)
	_ kubewasp.PreEnqueue        = (*Plugin)(nil)
	_ kubewasp.PreFilter         = (*Plugin)(nil)
	_ kubewasp.PostFilter        = (*Plugin)(nil)
	_ kubewasp.Permit            = (*Plugin)(nil)
	_ kubewasp.Unreserve         = (*Plugin)(nil)
)

// New makes the plugin when it is loaded.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Timeout: "1m"}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	timeout, err := parseTimeout(config.Timeout)
	if err != nil {
		return nil, errors.New("config: timeout: " + err.Error())
	}
	plugin := &Plugin{handle: handle, timeout: timeout}
	for _, name := range config.CheckRoom {
		if name == "" {
			return nil, errors.New("config: checkRoom: the name of a resource must not be empty")
		}
		plugin.checked = append(plugin.checked, handle.Resource(name))
	}
	// Pods on nodes are looked at once, and again only where one has come or gone.
	plugin.members = kubewasp.NewNodeInfoCache(membersOn)
	return plugin, nil
}

// ---------------------------------------------------------------------- queue

// PreEnqueue keeps pods out of the queue whose labels cannot be meant.
func (p *Plugin) PreEnqueue(pod *kubewasp.Pod) kubewasp.Status {
	if _, err := p.gangOf(pod); err != nil {
		return kubewasp.Unresolvable(err.Error())
	}
	return kubewasp.Success()
}

// EventsToRegister names what may help a pod whose gang was turned down.
func (p *Plugin) EventsToRegister() []kubewasp.ClusterEvent {
	const moreRoom = kubewasp.Add | kubewasp.UpdateNodeAllocatable | kubewasp.UpdateNodeLabel | kubewasp.UpdateNodeTaint
	return []kubewasp.ClusterEvent{
		{Resource: kubewasp.EventNode, Actions: moreRoom},
		{Resource: kubewasp.EventPod, Actions: kubewasp.Add | kubewasp.Delete | kubewasp.UpdatePodLabel},
	}
}

// QueueingHint looks at pods that come and go.
func (p *Plugin) QueueingHint(pod *kubewasp.Pod, change *kubewasp.Change) kubewasp.Hint {
	before, after := change.OldPod(), change.NewPod()
	helps := true // a node
	switch {
	case after != nil && before != nil: // other labels: only the pod's own matter
		helps = after.UID() == pod.UID()
	case after != nil: // a new pod: another one of the gang
		helps = idOf(after) == idOf(pod)
	case before != nil:
		// A pod that is gone leaves room. But one of the own gang that nobody deletes was turned down, as this one was. To
		// try again for that reason would never end.
		helps = idOf(before) != idOf(pod) || !before.DeletionTimestamp().IsZero()
	}
	if helps {
		return kubewasp.Queue
	}
	return kubewasp.QueueSkip
}

// ---------------------------------------------------------------------- scheduling

// PreFilter finds out about the pod's gang, and whether there can be room for all of it.
func (p *Plugin) PreFilter(state *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	own, err := p.gangOf(pod)
	if err != nil {
		return nil, kubewasp.Unresolvable(err.Error())
	}
	gangs.Set(state, own)
	if own.name == "" || len(p.checked) == 0 {
		return nil, kubewasp.Success()
	}
	missing := own.size - p.placed(own.id)
	if room := p.room(pod, missing); room < missing {
		return nil, kubewasp.Unschedulable(own.String() + " needs room for " + strconv.Itoa(missing) + " more pods, but there is room for " +
			strconv.Itoa(room))
	}
	return nil, kubewasp.Success()
}

// PostFilter: if there is no node for this pod, the others need not wait for it.
func (p *Plugin) PostFilter(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeStatuses) (kubewasp.Nomination, kubewasp.Status) {
	p.rejectOthers(gangs.Get(state), pod)
	return kubewasp.Nomination{}, kubewasp.Unschedulable("")
}

// Permit lets the gang go when it is complete; until then the pod waits.
func (p *Plugin) Permit(state *kubewasp.CycleState, _ *kubewasp.Pod, _ *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	own := gangs.Get(state)
	// To the scheduler, this pod and those that wait are on their nodes already: their room is taken. So they count.
	if own.name != "" && p.placed(own.id) < own.size {
		return kubewasp.Wait("waiting for the rest of " + own.String()), own.timeout
	}
	for _, other := range p.waiting(own) {
		p.handle.AllowWaitingPod(other.UID())
	}
	return kubewasp.Success(), 0
}

// Unreserve is called when the pod does not get to its node after all: its time is up, it was deleted or rejected, or it
// could not be bound.
func (p *Plugin) Unreserve(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) {
	p.rejectOthers(gangs.Get(state), pod)
}

// rejectOthers turns down the waiting pods of a gang. For each, Unreserve is called in turn, and finds fewer that wait.
func (p *Plugin) rejectOthers(own gang, pod *kubewasp.Pod) {
	for _, other := range p.waiting(own) {
		p.handle.RejectWaitingPod(other.UID(), own.String()+" cannot go without "+pod.Name())
	}
}

// ---------------------------------------------------------------------- gangs

// gangOf is what the pod says of its gang.
func (p *Plugin) gangOf(pod *kubewasp.Pod) (gang, error) {
	own := gang{id: idOf(pod), timeout: p.timeout}
	if own.name == "" {
		return gang{}, nil
	}
	text := pod.Labels().Get(sizeLabel)
	size, err := strconv.Atoi(text)
	if err != nil || size < 1 {
		return gang{}, errors.New("label " + sizeLabel + " must be a number from 1 on, not \"" + text + "\"")
	}
	own.size = size
	if text, found := pod.Annotations().Lookup(timeoutAnnotation); found {
		if own.timeout, err = parseTimeout(text); err != nil {
			return gang{}, errors.New("annotation " + timeoutAnnotation + ": " + err.Error())
		}
	}
	return own, nil
}

func (g *gang) String() string { return "gang " + g.name + " of " + strconv.Itoa(g.size) }

// placed is how many pods of a gang have a node.
func (p *Plugin) placed(of id) int {
	count := 0
	for node := range p.handle.Nodes() {
		count += p.members.Get(node)[of]
	}
	return count
}

// membersOn counts the pods of each gang on a node; nil if there are none. Those that are being deleted do not count.
func membersOn(node *kubewasp.NodeInfo) map[id]int {
	var found map[id]int
	for _, pod := range node.Pods() {
		of := idOf(pod)
		if of.name == "" || !pod.DeletionTimestamp().IsZero() {
			continue
		}
		if found == nil {
			found = map[id]int{}
		}
		found[id{strings.Clone(of.namespace), strings.Clone(of.name)}]++ // a part of the pod would keep all of it in memory
	}
	return found
}

// waiting are the pods of a gang that wait for permission.
func (p *Plugin) waiting(own gang) []*kubewasp.Pod {
	if own.name == "" {
		return nil
	}
	var found []*kubewasp.Pod
	for _, pod := range p.handle.WaitingPods() {
		if idOf(pod) == own.id {
			found = append(found, pod)
		}
	}
	return found
}

// room is how many pods like this one fit on all nodes, as far as the checked resources go; no more than are wanted.
func (p *Plugin) room(pod *kubewasp.Pod, wanted int) int {
	room := 0
	for node := range p.handle.Nodes() {
		fits := node.Free(kubewasp.Pods)
		for _, resource := range p.checked {
			if request := pod.Requests(resource); request > 0 {
				fits = min(fits, node.Free(resource)/request)
			}
		}
		room += int(max(fits, 0))
		if room >= wanted {
			return wanted
		}
	}
	return room
}

func parseTimeout(text string) (time.Duration, error) {
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 || timeout > maxTimeout {
		return 0, errors.New("expected a time such as 30s or 5m, at most 15m, not \"" + text + "\"")
	}
	return timeout, nil
}

func init() { kubewasp.Register(New) }

func main() {}
