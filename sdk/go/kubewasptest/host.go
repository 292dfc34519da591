//go:build !wasip1

package kubewasptest

import (
	"encoding/json"
	"strconv"
	"strings"

	kubewasp "kubewasp.dev/sdk"
)

// instance is one guest with its fake scheduler.
type instance struct {
	plugin *Plugin

	// Input of the current hook.
	pod, target kubewasp.Message
	row         int
	feasible    []int32
	scores      []int64
	statuses    []int32
	queuedAt    int64
	change      Change
	state       int

	// Results of the hook.
	reason    string
	hint      string
	nodes     []string
	nominated string
	sortKey   []byte
	sent      []int64
	signature uint64
	annotates bool // whether the hook may annotate
	sentNotes map[string]string

	normalization kubewasp.Normalization // declared

	hooks     uint32
	cycles    int
	resources []string
}

func newInstance(plugin *Plugin) *instance {
	return &instance{plugin: plugin, row: -1, resources: []string{"cpu", "memory", "ephemeral-storage", "pods"}}
}

// giveText implements a getter: it returns the full length, and writes the value only as a whole.
func giveText(value string, buf []byte) int {
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return len(value)
}

func giveNumbers[N int32 | int64](value, buf []N) int {
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return len(value)
}

func (i *instance) cluster() *Cluster { return i.plugin.cluster }

// at returns the row, if it has a node.
func (i *instance) at(number int) *row {
	rows := i.cluster().rows
	if number < 0 || number >= len(rows) || !rows[number].present {
		return nil
	}
	return rows[number]
}

func (i *instance) Config(buf []byte) int     { return giveText(i.plugin.config, buf) }
func (i *instance) CurrentPod(buf []byte) int { return giveText(string(i.pod), buf) }
func (i *instance) TargetPod(buf []byte) int  { return giveText(string(i.target), buf) }

func (i *instance) CurrentNodeName(buf []byte) int { return i.NodeName(i.row, buf) }

func (i *instance) SendClusterEvents(pairs []int32) {
	i.plugin.registered = nil
	for at := 0; at+1 < len(pairs); at += 2 {
		i.plugin.registered = append(i.plugin.registered, kubewasp.ClusterEvent{
			Resource: kubewasp.EventResource(pairs[at]),
			Actions:  kubewasp.EventAction(pairs[at+1]),
		})
	}
}

func (i *instance) SendNodeNames(names []byte) {
	i.nodes = strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
}

func (i *instance) SendNominatedNode(name string) { i.nominated = name }
func (i *instance) SendReason(text string)        { i.reason = text }
func (i *instance) SendHint(text string)          { i.hint = text }

func (i *instance) SendAnnotation(key, value string) {
	if !i.annotates {
		i.plugin.t.Errorf("Annotate(%q): only Reserve and PreBind may annotate", key)
		return
	}
	if i.sentNotes == nil {
		i.sentNotes = map[string]string{}
	}
	i.sentNotes[key] = value
}

func (i *instance) RecordEvent(json []byte) {
	i.plugin.events = append(i.plugin.events, decodeEvent(i.plugin.t, json))
}

func (i *instance) LogSeverity() int { return 0 }

func (i *instance) Log(severity int, message string) {
	i.plugin.logs = append(i.plugin.logs, "IWE"[severity:severity+1]+" "+message)
}

func (i *instance) LogPairs(severity int, message string, pairs []byte) {
	words := strings.Split(strings.TrimSuffix(string(pairs), "\x00"), "\x00")
	line := strconv.Quote(message)
	for at := 0; at < len(words); at += 2 {
		value := "(MISSING)"
		if at+1 < len(words) {
			value = words[at+1]
		}
		line += " " + words[at] + "=" + strconv.Quote(value)
	}
	i.Log(severity, line)
}

func (i *instance) Implemented(hooks uint32) { i.hooks = hooks }
func (i *instance) SignPod(signature uint64) { i.signature = signature }
func (i *instance) Now() int64               { return i.cluster().now.UnixNano() }

func (i *instance) Cycle() int { return i.cycles }

func (i *instance) Normalization(method int32, reverse bool, maximum int32) {
	i.normalization = kubewasp.Normalization{Method: kubewasp.NormalizationMethod(method), Reverse: reverse, Maximum: maximum}
}

// The answers of a pure plugin are compared by `kubewasp plugin test`.
func (i *instance) Pure()                          {}
func (i *instance) PodRead(uint32, uint64, uint32) {}

func (i *instance) Resource(name string) int {
	for number, known := range i.resources {
		if known == name {
			return number
		}
	}
	i.resources = append(i.resources, name)
	return len(i.resources) - 1
}

func (i *instance) PodRequests(numbers []int64) {
	pod := kubewasp.NewPod(i.pod)
	cpu, memory := nonZero(pod)
	known := []int64{cpu, memory}
	for _, name := range i.resources {
		known = append(known, request(pod, name))
	}
	copy(numbers, known)
}

func (i *instance) AtHand(known *[3]int64) int {
	*known = [3]int64{int64(i.cycles)}
	if r := i.at(i.row); r != nil {
		copy(known[1:], r.numbers(i.resources))
	}
	return i.row
}

func (i *instance) NodeRows() int           { return len(i.cluster().rows) }
func (i *instance) NodeRow(name string) int { return i.cluster().row(name) }

func (i *instance) NodeName(number int, buf []byte) int {
	if r := i.at(number); r != nil {
		return giveText(r.node.Name, buf)
	}
	return 0
}

func (i *instance) NodeObject(number int, buf []byte) int {
	if r := i.at(number); r != nil {
		return giveText(string(r.object), buf)
	}
	return 0
}

func (i *instance) NodeInfo(number int, numbers []int64) int {
	if r := i.at(number); r != nil {
		known := r.numbers(i.resources)
		copy(numbers, known)
		return len(known)
	}
	return 0
}

func (i *instance) NodePods(number int, buf []byte) int {
	var list encoder
	if r := i.at(number); r != nil {
		for _, p := range r.pods {
			list.text(2, string(p.encoded))
		}
	}
	return giveText(string(list.out), buf)
}

// NodeImageStates counts the nodes with each image of the node.
func (i *instance) NodeImageStates(name string, buf []byte) int {
	r := i.at(i.cluster().row(name))
	if r == nil {
		return giveText("null", buf)
	}
	states := map[string]kubewasp.ImageState{}
	for name, size := range imageSizes(r.node) {
		state := kubewasp.ImageState{Size: size}
		for _, number := range i.cluster().present() {
			if _, has := imageSizes(i.cluster().rows[number].node)[name]; has {
				state.NumNodes++
			}
		}
		states[name] = state
	}
	text, err := json.Marshal(states)
	if err != nil {
		i.plugin.t.Fatal(err)
	}
	return giveText(string(text), buf)
}

func (i *instance) FeasibleRows(rows []int32) int  { return giveNumbers(i.feasible, rows) }
func (i *instance) NodeScores(scores []int64) int  { return giveNumbers(i.scores, scores) }
func (i *instance) SendNodeScores(scores []int64)  { i.sent = append([]int64{}, scores...) }
func (i *instance) NodeStatuses(pairs []int32) int { return giveNumbers(i.statuses, pairs) }
func (i *instance) SendSortKey(key []byte)         { i.sortKey = append([]byte{}, key...) }
func (i *instance) QueuedAt() int64                { return i.queuedAt }
func (i *instance) EventResource() int             { return int(i.change.resource) }
func (i *instance) EventAction() int               { return int(i.change.action) }
func (i *instance) EventOld(buf []byte) int        { return giveText(string(i.change.before), buf) }
func (i *instance) EventNew(buf []byte) int        { return giveText(string(i.change.after), buf) }
func (i *instance) State() int                     { return i.state }

func (i *instance) WaitingPods(buf []byte) int {
	var list encoder
	for _, w := range i.plugin.waiting {
		list.text(2, string(w.pod.Encode()))
	}
	return giveText(string(list.out), buf)
}

func (i *instance) AllowWaitingPod(uid string) bool { return i.plugin.decide(uid, true, "") }

func (i *instance) RejectWaitingPod(uid, reason string) bool {
	return i.plugin.decide(uid, false, reason)
}

// imageSizes returns the sizes of a node's images by name.
func imageSizes(node Node) map[string]int64 {
	sizes := map[string]int64{}
	for _, image := range node.Images {
		for _, name := range image.Names {
			sizes[name] = image.SizeBytes
		}
	}
	return sizes
}
