// Nodenumber likes the node whose name ends in the same digit as the pod's name. It is a guest built by standard Go,
// a WASI reactor: the host calls _initialize, which runs init, and then the exported hooks.
package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	success       = 0
	unschedulable = 2
	skip          = 5
)

// settings is the configuration, of which only the text is looked at: {"reverse": true} turns the scores around, and a
// node whose quoted name appears in it, say {"closed": ["node-1"]}, is closed.
var settings string

// podDigit is kept from prefilter to the end of the pod's cycle; 0 stands for a name without one.
var podDigit byte

func main() {}

func init() {
	settings = string(config())
	if settings == "" {
		return
	}
	if !strings.HasPrefix(settings, "{") {
		panic("the config is no JSON object: " + settings)
	}
	klog(0, "config "+settings)
}

//go:wasmexport enqueue
func enqueue() {
	const node, add = 1, 1
	clusterEvents([]event{{node, add}})
}

//go:wasmexport prefilter
func prefilter() int32 {
	podDigit = lastDigit(name(currentPod()))
	return success
}

//go:wasmexport filter
func filter() int32 {
	node := string(currentNodeName())
	if node == "panic" {
		panic("the node is called panic")
	}
	if node == "entropy" {
		statusReason(entropy())
		return unschedulable
	}
	if strings.Contains(settings, `"`+node+`"`) {
		statusReason("node " + node + " is closed")
		return unschedulable
	}
	return success
}

// postfilter nominates the alphabetically first of the nodes that were refused.
//
//go:wasmexport postfilter
func postfilter() int64 {
	first := ""
	for i, name := range strings.Split(string(nodeToStatusMap()), `"`) {
		if i%2 == 1 && (first == "" || name < first) { // every second part stood in quotes
			first = name
		}
	}
	if first == "" {
		return unschedulable
	}
	nominate(first)
	const override = 1
	return override<<32 | success
}

//go:wasmexport prescore
func prescore() int32 {
	return success
}

//go:wasmexport score
func score() int64 {
	digit := lastDigit(currentNodeName())
	reverse := strings.Contains(settings, "true")
	if podDigit == 0 || digit == 0 || (podDigit == digit) == reverse {
		return success
	}
	return 10<<32 | success
}

//go:wasmexport permit
func permit() int64 {
	klog(0, "permit on "+string(currentNodeName()))
	return success<<32 | 0
}

//go:wasmexport bind
func bind() int32 {
	return skip // leave it to another binder
}

// name is Pod.metadata (field 1) .name (field 1).
func name(pod []byte) []byte {
	return field1(field1(pod))
}

// field1 is the string or message that a protobuf message has as its field 1.
func field1(message []byte) []byte {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		size := uint64(0)
		switch key & 7 {
		case 0:
			_, n = binary.Uvarint(message)
			message = message[n:]
		case 1:
			size = 8
		case 2:
			size, n = binary.Uvarint(message)
			message = message[n:]
		case 5:
			size = 4
		}
		if key == 1<<3|2 {
			return message[:size]
		}
		message = message[size:]
	}
	return nil
}

func lastDigit(text []byte) byte {
	if len(text) == 0 {
		return 0
	}
	if last := text[len(text)-1]; '0' <= last && last <= '9' {
		return last
	}
	return 0
}

// entropy is what a program has from the machine: a random number, the order of a map, the time, a duration with a sleep.
func entropy() string {
	order := ""
	for digit := range map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true} {
		order += fmt.Sprint(digit)
	}
	began := time.Now()
	time.Sleep(time.Millisecond)
	slept := time.Since(began) >= time.Millisecond
	return fmt.Sprintf("%d %s %s %t", rand.Uint64(), order, began.UTC().Format(time.RFC3339), slept)
}
