//go:build !tinygo

package memory

import "unsafe"

// Memory of the host in Go's heap: reachable, so that the collector does not free it.
var owned = map[uint32][]byte{}

//go:wasmexport malloc
func allocate(size uint32) uint32 {
	buffer := make([]byte, max(size, 1))
	pointer := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(buffer))))
	owned[pointer] = buffer
	return pointer
}

//go:wasmexport free
func release(pointer uint32) {
	delete(owned, pointer)
}
