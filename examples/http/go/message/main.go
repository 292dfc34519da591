// Web handler of style run: greets the name in the request body. The form to begin with.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ../message-go.wasm ./message
//	tinygo build -target=wasip1 -buildmode=c-shared -o ../message-tinygo.wasm ./message
package main

import (
	"runtime"
	"strings"

	"example/handlers/memory"
)

//go:wasmimport httpwasm oputs
func oputs(pointer, length uint32)

//go:wasmimport httpwasm eputs
func eputs(pointer, length uint32)

//go:wasmexport run
func run(pointer, length uint32) {
	name := strings.TrimSpace(memory.Text(pointer, length)) // the host frees its own afterwards
	if name == "" {
		report("no name in the body")
		name = "world"
	}
	write("hello, " + name + "\n")
}

// write appends to the response. The host has read the string when oputs returns.
func write(text string) {
	oputs(memory.Address(text))
	runtime.KeepAlive(text)
}

// report appends to the server's log.
func report(text string) {
	eputs(memory.Address(text))
	runtime.KeepAlive(text)
}

func main() {}
