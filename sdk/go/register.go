package kubewasp

import "errors"

// Factory makes a plugin when the guest is loaded.
type Factory func(*Handle) (any, error)

// Register says how the plugin is made. Call it once, in an init function of package main:
//
//	func init() { kubewasp.Register(New) }
//
//	func New(handle *kubewasp.Handle) (*MyPlugin, error) { … }
//
//	func main() {}
//
// New is called while the guest is loaded, and may read the configuration from its handle. If it returns an error, the
// guest is not loaded, with that text. What the plugin implements of the interfaces of this package is what it is asked.
func Register[P any](factory func(*Handle) (P, error)) {
	start(erased(factory))
}

func erased[P any](factory func(*Handle) (P, error)) Factory {
	return func(handle *Handle) (any, error) {
		plugin, err := factory(handle)
		return plugin, err
	}
}

var errNothing = errors.New("the plugin implements no extension point: give it a method such as Filter or Score, " +
	"with the parameters and results that package kubewasp has for it")

// load makes the plugin and tells the scheduler which hooks to call.
func (g *guest) load(factory Factory) error {
	plugin, err := factory(&g.handle)
	if err != nil {
		return err
	}
	if plugin == nil {
		return errors.New("the plugin is nil")
	}
	hooks := g.plugin.inspect(plugin)
	if hooks == 0 {
		return errNothing
	}
	if hooks&cycleHooks != 0 && (g.handle.signature == 0 || hooks&^sharedHooks != 0) {
		hooks |= hookPreFilter // where a new pod begins: its state is forgotten there
	}
	g.hooks = hooks
	g.host.Implemented(hooks)
	if g.handle.signature != 0 {
		g.host.SignPod(g.handle.signature)
	}
	return nil
}
