// Nodenumber gives 10 points to a node whose name ends in the same digit as the pod's. It is a guest of the classic
// ABI, built by standard Go: any host of that ABI can run it, and each of its scores asks the host for one name.
package main

import (
	"encoding/binary"
	"unsafe"
)

const (
	success = 0
	points  = 10
)

// podDigit is kept from prescore to the end of the pod's cycle; 0 stands for a name without one.
var podDigit byte

var buffer = make([]byte, 2048)

//go:wasmimport k8s.io/scheduler currentPod
func hostCurrentPod(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler currentNodeName
func hostCurrentNodeName(buffer unsafe.Pointer, limit uint32) uint32

func main() {}

//go:wasmexport prefilter
func prefilter() int32 {
	podDigit = 0
	return success
}

//go:wasmexport prescore
func prescore() int32 {
	podDigit = lastDigit(field1(field1(read(hostCurrentPod)))) // metadata, name
	return success
}

//go:wasmexport score
func score() int64 {
	if digit := lastDigit(read(hostCurrentNodeName)); digit != 0 && digit == podDigit {
		return points<<32 | success
	}
	return success
}

// read calls a getter. The result is valid until the next call.
func read(getter func(unsafe.Pointer, uint32) uint32) []byte {
	length := getter(unsafe.Pointer(&buffer[0]), uint32(len(buffer)))
	if int(length) > len(buffer) { // nothing was written: make room, ask again
		buffer = make([]byte, length)
		length = getter(unsafe.Pointer(&buffer[0]), length)
	}
	return buffer[:length]
}

// field1 is the string or message that a protobuf message has as its field 1, which these have as their first.
func field1(message []byte) []byte {
	if len(message) == 0 || message[0] != 1<<3|2 {
		return nil
	}
	length, size := binary.Uvarint(message[1:])
	return message[1+size:][:length]
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
