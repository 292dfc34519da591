// Package memory passes strings between a guest and its host, for standard Go and TinyGo.
//
// There are three rules of ownership (docs/web-memory.md):
//
//   - a string that the guest passes to an imported function stays the guest's: Address;
//   - a string that the host passes to an exported function is the host's, which frees it: Text;
//   - a string that the guest returns from an exported function becomes the host's: Transfer.
package memory

import "unsafe"

// Address is the pointer and the length of a string, for an imported function. The caller keeps the string reachable
// during the call: runtime.KeepAlive(text) after it.
func Address(text string) (pointer, length uint32) {
	return uint32(uintptr(unsafe.Pointer(unsafe.StringData(text)))), uint32(len(text))
}

// Text is a copy of a string of the host, which may free it afterwards.
func Text(pointer, length uint32) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(pointer))), length))
}

// Unpacked is a copy of a string that an imported function has returned as pointer<<32 | length.
func Unpacked(packed uint64) string {
	return Text(uint32(packed>>32), uint32(packed))
}

// Transfer is a copy of a string as pointer<<32 | length, for the result of an exported function. The host owns it, and
// frees it with the exported free.
func Transfer(text string) uint64 {
	pointer := allocate(uint32(len(text)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(pointer))), len(text)), text)
	return uint64(pointer)<<32 | uint64(len(text))
}

// Free ends the ownership of a string that the host has handed over, packed as pointer<<32 | length.
func Free(packed uint64) {
	release(uint32(packed >> 32))
}
