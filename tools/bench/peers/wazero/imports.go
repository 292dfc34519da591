package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	corev1 "k8s.io/api/core/v1"
)

// Messages below this severity are not logged: 3 is fatal, as a scheduler in production would have it.
const severity = 3

// provide defines all functions of the classic ABI that a guest may import.
func provide(runtime wazero.Runtime, h *host) error {
	modules := map[string][]function{
		"k8s.io/api": {
			{"node", 4, 1, h.getNode},
			{"nodeList", 2, 1, getter(h.nodeList)},
		},
		"k8s.io/scheduler": {
			{"get_config", 2, 1, getter(nothing)},
			{"currentPod", 2, 1, getter(h.currentPod)},
			{"targetPod", 2, 1, getter(nothing)},
			{"currentNodeName", 2, 1, h.currentNodeName},
			{"filteredNodeList", 2, 1, getter(h.filteredNodeList)},
			{"nodeToStatusMap", 2, 1, unmeasured("nodeToStatusMap")},
			{"nodeScoreList", 2, 1, getter(h.nodeScoreList)},
			{"nodeImageStates", 4, 1, unmeasured("nodeImageStates")},
			{"result.cluster_events", 2, 0, ignored},
			{"result.node_names", 2, 0, func(context.Context, api.Module, []uint64) { h.narrowed = true }},
			{"result.nominated_node_name", 2, 0, ignored},
			{"result.status_reason", 2, 0, setter(func(text []byte) { h.reason = string(text) })},
			{"result.normalized_score_list", 2, 0, setter(func(text []byte) { h.normalized = append([]byte{}, text...) })},
			{"handle.eventrecorder.eventf", 2, 0, ignored},
			{"handle.reject_waiting_pod", 4, 0, unmeasured("handle.reject_waiting_pod")},
			{"handle.get_waiting_pod", 4, 0, unmeasured("handle.get_waiting_pod")},
		},
		"k8s.io/klog": {
			{"severity", 0, 1, func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = severity }},
			{"log", 3, 0, logged},
			{"logs", 5, 0, logged},
		},
	}
	for name, functions := range modules {
		builder := runtime.NewHostModuleBuilder(name)
		for _, function := range functions {
			builder.NewFunctionBuilder().
				WithGoModuleFunction(function.code, numbers(function.parameters), numbers(function.results)).
				Export(function.name)
		}
		if _, err := builder.Instantiate(background); err != nil {
			return err
		}
	}
	return nil
}

// function is one import; all of its parameters and results are i32.
type function struct {
	name                string
	parameters, results int
	code                api.GoModuleFunc
}

func numbers(count int) []api.ValueType {
	types := make([]api.ValueType, count)
	for i := range types {
		types[i] = api.ValueTypeI32
	}
	return types
}

// answer writes a value into the guest's buffer if it fits, and returns its length either way.
func answer[Text string | []byte](module api.Module, value Text, buffer, limit uint64) uint64 {
	if length := uint64(len(value)); length == 0 || length > uint64(uint32(limit)) {
		return length
	}
	space := read(module, buffer, uint64(len(value)))
	return uint64(copy(space, value))
}

func read(module api.Module, address, length uint64) []byte {
	content, ok := module.Memory().Read(uint32(address), uint32(length))
	if !ok {
		panic(fmt.Errorf("%d bytes at %d are outside of the guest's memory", uint32(length), uint32(address)))
	}
	return content
}

func getter(value func() []byte) api.GoModuleFunc {
	return func(_ context.Context, module api.Module, stack []uint64) {
		stack[0] = answer(module, value(), stack[0], stack[1])
	}
}

func setter(take func([]byte)) api.GoModuleFunc {
	return func(_ context.Context, module api.Module, stack []uint64) {
		take(read(module, stack[0], stack[1]))
	}
}

func nothing() []byte { return nil }

func ignored(context.Context, api.Module, []uint64) {}

func unmeasured(name string) api.GoModuleFunc {
	return func(context.Context, api.Module, []uint64) {
		panic(fmt.Errorf("%s is not served here: no guest that is measured asks for it", name))
	}
}

func logged(_ context.Context, module api.Module, stack []uint64) {
	if int32(stack[0]) >= severity {
		fmt.Fprintf(os.Stderr, "%s\n", read(module, stack[1], stack[2]))
	}
}

// encoded is an object with its protobuf, which is made when the guest asks for it, once, and always in the same place.
type encoded[Object message] struct {
	object Object
	wire   []byte
	done   bool
}

type message interface {
	comparable
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

func (e *encoded[Object]) set(object Object) {
	if e.object != object {
		e.object, e.done = object, false
	}
}

func (e *encoded[Object]) bytes() []byte {
	if !e.done {
		size := e.object.Size()
		e.wire = slices.Grow(e.wire[:0], size)[:size]
		if _, err := e.object.MarshalToSizedBuffer(e.wire); err != nil {
			panic(err)
		}
		e.done = true
	}
	return e.wire
}

func (h *host) currentPod() []byte { return h.pod.bytes() }

func (h *host) currentNodeName(_ context.Context, module api.Module, stack []uint64) {
	stack[0] = answer(module, h.node, stack[0], stack[1])
}

func (h *host) getNode(_ context.Context, module api.Module, stack []uint64) {
	place, known := h.places[string(read(module, stack[0], stack[1]))]
	if !known {
		stack[0] = 0
		return
	}
	h.asked.set(h.nodes[place])
	stack[0] = answer(module, h.asked.bytes(), stack[2], stack[3])
}

func (h *host) nodeList() []byte {
	if h.list.object == nil {
		list := &corev1.NodeList{Items: make([]corev1.Node, len(h.nodes))}
		for i, node := range h.nodes {
			list.Items[i] = *node
		}
		h.list.set(list)
	}
	return h.list.bytes()
}

func (h *host) filteredNodeList() []byte {
	if h.byName == nil {
		names := make([]string, len(h.feasible))
		for i, node := range h.feasible {
			names[i] = node.Name
		}
		h.byName = text(names)
	}
	return h.byName
}

func (h *host) nodeScoreList() []byte {
	if h.byName == nil {
		scores := make(map[string]int64, len(h.feasible))
		for i, node := range h.feasible {
			scores[node.Name] = h.scores[i]
		}
		h.byName = text(scores)
	}
	return h.byName
}

// takeNormalized puts the scores that normalizescore sent in the place of the others; none sent leaves them.
func (h *host) takeNormalized() error {
	var normalized map[string]int64
	if len(h.normalized) == 0 {
		return nil
	}
	if err := json.Unmarshal(h.normalized, &normalized); err != nil || normalized == nil {
		return err
	}
	for i, node := range h.feasible {
		score, sent := normalized[node.Name]
		if !sent {
			return fmt.Errorf("normalizescore sent no score for %s", node.Name)
		}
		h.scores[i] = score
	}
	return nil
}

func text(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return content
}
