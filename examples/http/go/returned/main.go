// Web handler of style module: the result of run is the body, and becomes the host's.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ../returned-go.wasm ./returned
package main

import "example/handlers/memory"

//go:wasmimport kubewasp_http request_query
func requestQuery() uint64

//go:wasmexport run
func run() uint64 {
	query := requestQuery()
	name := memory.Unpacked(query)
	memory.Free(query) // style module: the guest owns what the host has made for it
	return memory.Transfer("hello, " + name + "\n")
}

func main() {}
