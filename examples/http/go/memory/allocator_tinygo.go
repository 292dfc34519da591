//go:build tinygo

package memory

// #include <stdlib.h>
import "C"

import "unsafe"

// TinyGo exports malloc and free itself.
func allocate(size uint32) uint32 {
	return uint32(uintptr(C.malloc(C.size_t(max(size, 1)))))
}

func release(pointer uint32) {
	C.free(unsafe.Pointer(uintptr(pointer)))
}
