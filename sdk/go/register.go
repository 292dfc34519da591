package kubewasp

import "errors"

// maker is a constructor of a plugin of any type.
type maker = func(*Handle) (any, error)

// Register registers the constructor of the plugin. Call it once, in an init function of package main:
//
//	func init() { kubewasp.Register(New) }
//
//	func New(handle *kubewasp.Handle) (*MyPlugin, error) { … }
//
//	func main() {}
//
// New runs while the guest is loaded, and may read the configuration from its handle. An error from New fails the load.
// The scheduler calls the extension points that the plugin implements.
func Register[P any](factory func(*Handle) (P, error)) {
	start(func(handle *Handle) (any, error) { return factory(handle) })
}

var errNil = errors.New("the plugin is nil")

var errNothing = errors.New("the plugin implements no extension point: give it a method such as Filter or Score, " +
	"with the parameters and results that package kubewasp has for it")

// load creates the plugin and declares its hooks to the scheduler.
func (g *guest) load(factory maker) error {
	plugin, err := factory(&g.handle)
	if err != nil {
		return err
	}
	if plugin == nil {
		return errNil
	}
	hooks := g.plugin.inspect(plugin)
	if hooks == 0 {
		return errNothing
	}
	g.host.Implemented(hooks)
	if declared := g.handle.normalization; declared != nil {
		g.host.Normalization(int32(declared.Method), declared.Reverse, declared.maximum())
	}
	if g.handle.pure {
		g.host.Pure()
	}
	if g.handle.signature != 0 {
		g.host.SignPod(g.handle.signature)
	}
	return nil
}
