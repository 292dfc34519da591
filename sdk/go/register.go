package kubewasp

import "errors"

// maker makes a plugin of any type.
type maker = func(*Handle) (any, error)

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
	start(func(handle *Handle) (any, error) { return factory(handle) })
}

var errNothing = errors.New("the plugin implements no extension point: give it a method such as Filter or Score, " +
	"with the parameters and results that package kubewasp has for it")

// load makes the plugin and tells the scheduler which hooks to call.
func (g *guest) load(factory maker) error {
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
	g.host.Implemented(hooks)
	if g.handle.signature != 0 {
		g.host.SignPod(g.handle.signature)
	}
	return nil
}
