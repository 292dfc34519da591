//go:build wasip1

package kubewasp

import (
	"errors"

	"kubewasp.dev/sdk/internal/host"
)

// Exit codes of a guest that does not start: its constructor refuses the configuration, or the plugin is unusable with any.
const (
	exitRefused  = 1
	exitUnusable = 2
)

// loaded is the plugin of this guest.
var loaded *guest

// start creates the plugin while the guest is loaded. An error ends the guest; its output is the load error.
func start(factory maker) {
	if loaded != nil {
		print("kubewasp.Register was called twice\n")
		host.Exit(exitUnusable)
	}
	made := newGuest(host.Host{})
	if err := made.load(factory); err != nil {
		print(err.Error(), "\n")
		if errors.Is(err, errNil) || errors.Is(err, errNothing) {
			host.Exit(exitUnusable)
		}
		host.Exit(exitRefused)
	}
	loaded = made
}

//go:wasmexport enqueue
func exportEnqueue() { loaded.runEnqueue() }

//go:wasmexport prefilter
func exportPreFilter() int32 { return loaded.runPreFilter() }

//go:wasmexport addpod
func exportAddPod() int32 { return loaded.runAddPod() }

//go:wasmexport removepod
func exportRemovePod() int32 { return loaded.runRemovePod() }

//go:wasmexport filter
func exportFilter() int32 { return loaded.runFilter() }

//go:wasmexport postfilter
func exportPostFilter() int64 { return loaded.runPostFilter() }

//go:wasmexport prescore
func exportPreScore() int32 { return loaded.runPreScore() }

//go:wasmexport score
func exportScore() int64 { return loaded.runScore() }

//go:wasmexport normalizescore
func exportNormalizeScore() int32 { return loaded.runNormalizeScore() }

//go:wasmexport reserve
func exportReserve() int32 { return loaded.runReserve() }

//go:wasmexport unreserve
func exportUnreserve() { loaded.runUnreserve() }

//go:wasmexport permit
func exportPermit() int64 { return loaded.runPermit() }

//go:wasmexport prebind
func exportPreBind() int32 { return loaded.runPreBind() }

//go:wasmexport bind
func exportBind() int32 { return loaded.runBind() }

//go:wasmexport postbind
func exportPostBind() { loaded.runPostBind() }

//go:wasmexport preenqueue
func exportPreEnqueue() int32 { return loaded.runPreEnqueue() }

//go:wasmexport queuesort
func exportQueueSort() int32 { return loaded.runQueueSort() }

//go:wasmexport queueinghint
func exportQueueingHint() int32 { return loaded.runQueueingHint() }

//go:wasmexport clonestate
func exportCloneState() { loaded.runCloneState() }

//go:wasmexport selectstate
func exportSelectState() { loaded.runSelectState() }

//go:wasmexport dropstate
func exportDropState() { loaded.runDropState() }

//go:wasmexport signpod
func exportSignPod() int64 { return loaded.runSignPod() }
