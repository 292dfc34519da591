// Labels gives 10 points to a node in the first zone of its region. It is a guest of the classic ABI, built by standard
// Go: each of its scores asks the host for a name, asks for that whole node, and reads one label in it.
package main

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

const (
	success = 0
	points  = 10

	metadata    = 1
	labels      = 11
	label, zone = "topology.kubernetes.io/zone", "a"
)

var (
	name   = make([]byte, 256) // no node's name is longer
	buffer = make([]byte, 2048)
)

//go:wasmimport k8s.io/scheduler currentNodeName
func hostCurrentNodeName(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/api node
func hostNode(name unsafe.Pointer, nameLength uint32, buffer unsafe.Pointer, limit uint32) uint32

func main() {}

//go:wasmexport score
func score() int64 {
	length := hostCurrentNodeName(unsafe.Pointer(&name[0]), uint32(len(name)))
	if strings.HasSuffix(labelOf(node(name[:length])), zone) {
		return points<<32 | success
	}
	return success
}

// node reads a node by its name. The result is valid until the next call.
func node(name []byte) []byte {
	pointer, size := unsafe.Pointer(&name[0]), uint32(len(name))
	length := hostNode(pointer, size, unsafe.Pointer(&buffer[0]), uint32(len(buffer)))
	if int(length) > len(buffer) { // nothing was written: make room, ask again
		buffer = make([]byte, length)
		length = hostNode(pointer, size, unsafe.Pointer(&buffer[0]), length)
	}
	return buffer[:length]
}

// labelOf finds the label among the node's: a map crosses as repeated messages of key and value.
func labelOf(node []byte) string {
	found := ""
	fields(node, func(number uint64, meta []byte) bool {
		if number != metadata {
			return true
		}
		fields(meta, func(number uint64, pair []byte) bool {
			if number == labels && first(pair) == label {
				found = second(pair)
			}
			return found == ""
		})
		return false
	})
	return found
}

func first(pair []byte) string  { return text(pair, 1) }
func second(pair []byte) string { return text(pair, 2) }

func text(message []byte, wanted uint64) string {
	var found []byte
	fields(message, func(number uint64, content []byte) bool {
		if number == wanted {
			found = content
		}
		return number != wanted
	})
	return unsafe.String(unsafe.SliceData(found), len(found))
}

// fields shows the strings and messages of a protobuf message, one after the other, while they are wanted.
func fields(message []byte, show func(number uint64, content []byte) bool) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		switch key & 7 {
		case 0:
			_, n = binary.Uvarint(message)
			message = message[n:]
		case 1:
			message = message[8:]
		case 2:
			length, n := binary.Uvarint(message)
			if !show(key>>3, message[n:][:length]) {
				return
			}
			message = message[n:][length:]
		case 5:
			message = message[4:]
		}
	}
}
