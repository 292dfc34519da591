// Command gang is a scheduler plugin for gang scheduling: the pods of a gang wait at Permit until enough of them have a
// node, and are then bound together. If one of them fails, all waiting ones are rejected.
package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	kubewasp "kubewasp.dev/sdk"
)

// Labels and annotations of pods of a gang.
const (
	nameLabel         = "kubewasp.dev/gang"
	sizeLabel         = "kubewasp.dev/gang-size"
	timeoutAnnotation = "kubewasp.dev/gang-timeout" // overrides the configured timeout
)

const maxTimeout = 15 * time.Minute // limit of the scheduler

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Timeout   string   `json:"timeout"`   // maximum wait for the rest of the gang
	CheckRoom []string `json:"checkRoom"` // resources to check for the whole gang before a pod waits
}

// gang is the gang of a pod, from its labels. The zero value means no gang.
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

// Plugin schedules gangs. It reads other pods from the scheduler: plugin memory is not shared between pods.
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

// New creates the plugin when it is loaded.
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
	// Pods of a node are counted once, and again only after a change on this node.
	plugin.members = kubewasp.NewNodeInfoCache(membersOn)
	return plugin, nil
}

// ---------------------------------------------------------------------- queue

// PreEnqueue keeps pods with invalid labels out of the queue.
func (p *Plugin) PreEnqueue(pod *kubewasp.Pod) kubewasp.Status {
	if _, err := p.gangOf(pod); err != nil {
		return kubewasp.Unresolvable(err.Error())
	}
	return kubewasp.Success()
}

// EventsToRegister lists the events that may help a pod of a rejected gang.
func (p *Plugin) EventsToRegister() []kubewasp.ClusterEvent {
	const moreRoom = kubewasp.Add | kubewasp.UpdateNodeAllocatable | kubewasp.UpdateNodeLabel | kubewasp.UpdateNodeTaint
	return []kubewasp.ClusterEvent{
		{Resource: kubewasp.EventNode, Actions: moreRoom},
		{Resource: kubewasp.EventPod, Actions: kubewasp.Add | kubewasp.Delete | kubewasp.UpdatePodLabel},
	}
}

// QueueingHint evaluates added, changed and deleted pods.
func (p *Plugin) QueueingHint(pod *kubewasp.Pod, change *kubewasp.Change) kubewasp.Hint {
	before, after := change.OldPod(), change.NewPod()
	helps := true // a node
	switch {
	case after != nil && before != nil: // changed labels: only of the pod itself
		helps = after.UID() == pod.UID()
	case after != nil: // a new pod: only of the same gang
		helps = idOf(after) == idOf(pod)
	case before != nil:
		// A deleted pod leaves room. But a pod of the same gang without a deletion timestamp was only rejected: a retry for
		// that reason would never end.
		helps = idOf(before) != idOf(pod) || !before.DeletionTimestamp().IsZero()
	}
	if helps {
		return kubewasp.Queue
	}
	return kubewasp.QueueSkip
}

// ---------------------------------------------------------------------- scheduling

// PreFilter reads the pod's gang and checks the room for all of it.
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

// PostFilter rejects the rest of the gang: this pod has no feasible node.
func (p *Plugin) PostFilter(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeStatuses) (kubewasp.Nomination, kubewasp.Status) {
	p.rejectOthers(gangs.Get(state), pod)
	return kubewasp.Nomination{}, kubewasp.Unschedulable("")
}

// Permit allows the gang when it is complete; until then the pod waits.
func (p *Plugin) Permit(state *kubewasp.CycleState, _ *kubewasp.Pod, _ *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	own := gangs.Get(state)
	// This pod and the waiting ones count: the scheduler has already assigned them to their nodes.
	if own.name != "" && p.placed(own.id) < own.size {
		return kubewasp.Wait("waiting for the rest of " + own.String()), own.timeout
	}
	for _, other := range p.waiting(own) {
		p.handle.AllowWaitingPod(other.UID())
	}
	return kubewasp.Success(), 0
}

// Unreserve rejects the rest of the gang after a failure of this pod: timeout, deletion, rejection, or a failed bind.
func (p *Plugin) Unreserve(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) {
	p.rejectOthers(gangs.Get(state), pod)
}

// rejectOthers rejects the waiting pods of a gang. Each rejection calls Unreserve, which finds fewer waiting pods.
func (p *Plugin) rejectOthers(own gang, pod *kubewasp.Pod) {
	for _, other := range p.waiting(own) {
		p.handle.RejectWaitingPod(other.UID(), own.String()+" cannot go without "+pod.Name())
	}
}

// ---------------------------------------------------------------------- gangs

// gangOf reads the gang from the pod's labels and annotations.
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

// placed counts the pods of a gang with a node.
func (p *Plugin) placed(of id) int {
	count := 0
	for node := range p.handle.Nodes() {
		count += p.members.Get(node)[of]
	}
	return count
}

// membersOn counts the pods of each gang on a node; nil if there are none. Terminating pods do not count.
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
		found[id{strings.Clone(of.namespace), strings.Clone(of.name)}]++ // a substring would keep the whole pod in memory
	}
	return found
}

// waiting lists the pods of a gang that wait at Permit.
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

// room counts how many pods like this one fit on all nodes, by the checked resources, up to the wanted number.
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
