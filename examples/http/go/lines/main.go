// Web handler of style run: reads the request line by line, and numbers the lines.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ../lines-go.wasm ./lines
package main

import (
	"runtime"
	"strconv"
	"strings"

	"example/handlers/memory"
)

//go:wasmimport httpwasm igets
func igets() uint64

//go:wasmimport httpwasm oputs
func oputs(pointer, length uint32)

//go:wasmexport run
func run() {
	for number := 1; ; number++ {
		line := memory.Unpacked(igets()) // the host frees its own after run
		if line == "" {
			return
		}
		text := strconv.Itoa(number) + " " + strings.ToUpper(line)
		oputs(memory.Address(text))
		runtime.KeepAlive(text)
	}
}

func main() {}
