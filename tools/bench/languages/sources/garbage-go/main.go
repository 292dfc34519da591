// Garbage makes a kilobyte of it for each node. The configuration has the settings of Go's collector: "PERCENT MEBIBYTES",
// GOGC and GOMEMLIMIT of a program. A guest has no environment to take them from.
package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	kubewasp "kubewasp.dev/sdk"
)

const (
	pieces = 4
	length = 256
)

type Garbage struct{}

func New(handle *kubewasp.Handle) (Garbage, error) {
	percent, mebibytes := 100, int64(0)
	if text := handle.Config(); text != "" {
		if _, err := fmt.Sscan(text, &percent, &mebibytes); err != nil {
			return Garbage{}, err
		}
	}
	debug.SetGCPercent(percent)
	if mebibytes > 0 {
		debug.SetMemoryLimit(mebibytes << 20)
	}
	return Garbage{}, nil
}

// Score is the number of copies of the node's name.
func (Garbage) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	var made []string
	for range pieces {
		made = append(made, strings.Repeat(node.Name(), length/len(node.Name())+1)[:length])
	}
	return int64(len(made)), kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
