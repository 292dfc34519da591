// Allhooks is a standard Go guest that exports every hook of the contract: each logs its name and succeeds.
package main

import "os"

//go:wasmimport k8s.io/klog log
func klog(severity uint32, message string)

func main() {}

// The args of the plugin's configuration come as the guest's argv.
func init() {
	for _, arg := range os.Args {
		klog(0, "arg "+arg)
	}
}

func called(hook string) int32 {
	klog(0, hook)
	return 0
}

//go:wasmexport enqueue
func enqueue() { called("enqueue") }

//go:wasmexport prefilter
func prefilter() int32 { return called("prefilter") }

//go:wasmexport addpod
func addpod() int32 { return called("addpod") }

//go:wasmexport removepod
func removepod() int32 { return called("removepod") }

//go:wasmexport filter
func filter() int32 { return called("filter") }

//go:wasmexport postfilter
func postfilter() int64 { return int64(called("postfilter")) }

//go:wasmexport prescore
func prescore() int32 { return called("prescore") }

//go:wasmexport score
func score() int64 { return int64(called("score")) }

//go:wasmexport normalizescore
func normalizescore() int32 { return called("normalizescore") }

//go:wasmexport reserve
func reserve() int32 { return called("reserve") }

//go:wasmexport unreserve
func unreserve() { called("unreserve") }

//go:wasmexport permit
func permit() int64 { return int64(called("permit")) << 32 }

//go:wasmexport prebind
func prebind() int32 { return called("prebind") }

//go:wasmexport bind
func bind() int32 { return called("bind") }

//go:wasmexport postbind
func postbind() { called("postbind") }
