package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// hook is an export of the guest that the host calls.
type hook struct {
	name     string
	function api.Function
}

// guest is one instance, compiled ahead of its first call.
type guest struct {
	host   *host
	module api.Module
	output bytes.Buffer // of the current call
	stack  []uint64

	prefilter, filter, prescore, score, normalizescore *hook
}

var background = context.Background()

func load(h *host, wasm []byte) (*guest, error) {
	runtime := wazero.NewRuntimeWithConfig(background, wazero.NewRuntimeConfigCompiler())
	if err := provideWASI(runtime); err != nil {
		return nil, err
	}
	if err := provide(runtime, h); err != nil {
		return nil, err
	}
	compiled, err := runtime.CompileModule(background, wasm)
	if err != nil {
		return nil, err
	}
	g := &guest{host: h, stack: make([]uint64, 1)}
	config := wazero.NewModuleConfig().WithStartFunctions().
		WithStdout(&g.output).WithStderr(&g.output).
		WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader)
	if g.module, err = runtime.InstantiateModule(background, compiled, config); err != nil {
		return nil, err
	}
	if g.module.Memory() == nil {
		return nil, errors.New("the guest does not export its memory")
	}
	if err := g.start(); err != nil {
		return nil, err
	}
	g.prefilter = g.hook("prefilter")
	g.filter = g.hook("filter")
	g.prescore = g.hook("prescore")
	g.score = g.hook("score")
	g.normalizescore = g.hook("normalizescore")
	return g, nil
}

// provideWASI is wazero's, but a guest that exits in its start function stays usable: a TinyGo guest does that.
func provideWASI(runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	exit := func(_ context.Context, code uint32) { panic(sys.NewExitError(code)) }
	builder.NewFunctionBuilder().WithFunc(exit).Export("proc_exit")
	_, err := builder.Instantiate(background)
	return err
}

func (g *guest) start() error {
	for _, name := range []string{"_initialize", "_start"} {
		function := g.module.ExportedFunction(name)
		if function == nil {
			continue
		}
		_, err := function.Call(background)
		var exit *sys.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 0 {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s error: %s%w", name, g.output.String(), err)
		}
	}
	return nil
}

func (g *guest) hook(name string) *hook {
	function := g.module.ExportedFunction(name)
	if function == nil {
		return nil
	}
	return &hook{name, function}
}

// call calls a hook on what the host has set; a status or a score with its status comes back.
func (g *guest) call(hook *hook) (uint64, error) {
	g.host.reason = ""
	g.output.Reset()
	if err := hook.function.CallWithStack(background, g.stack); err != nil {
		return 0, fmt.Errorf("%s error: %s%w", hook.name, g.output.String(), err)
	}
	return g.stack[0], nil
}
