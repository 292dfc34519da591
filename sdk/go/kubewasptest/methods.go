//go:build !wasip1

package kubewasptest

import (
	"reflect"
	"testing"

	kubewasp "kubewasp.dev/sdk"
)

// interfaces are all extension points, by their methods.
var interfaces = []reflect.Type{
	reflect.TypeFor[kubewasp.EnqueueExtensions](),
	reflect.TypeFor[kubewasp.QueueingHint](),
	reflect.TypeFor[kubewasp.PreEnqueue](),
	reflect.TypeFor[kubewasp.QueueSort](),
	reflect.TypeFor[kubewasp.PreFilter](),
	reflect.TypeFor[kubewasp.PreFilterExtensions](),
	reflect.TypeFor[kubewasp.Filter](),
	reflect.TypeFor[kubewasp.PostFilter](),
	reflect.TypeFor[kubewasp.PreScore](),
	reflect.TypeFor[kubewasp.Score](),
	reflect.TypeFor[kubewasp.NormalizeScore](),
	reflect.TypeFor[kubewasp.Signature](),
	reflect.TypeFor[kubewasp.Reserve](),
	reflect.TypeFor[kubewasp.Unreserve](),
	reflect.TypeFor[kubewasp.Permit](),
	reflect.TypeFor[kubewasp.PreBind](),
	reflect.TypeFor[kubewasp.Bind](),
	reflect.TypeFor[kubewasp.PostBind](),
}

// checkMethods finds methods with the name of an extension point but another signature, which are never called.
func checkMethods(t testing.TB, plugin any) {
	t.Helper()
	kind := reflect.TypeOf(plugin)
	if kind == nil {
		return
	}
	for _, wanted := range interfaces {
		if kind.Implements(wanted) {
			continue
		}
		for i := range wanted.NumMethod() {
			method := wanted.Method(i)
			if _, has := kind.MethodByName(method.Name); has {
				t.Errorf("%v has a method %s but does not implement kubewasp.%s: it is never called. Needed: %s%s",
					kind, method.Name, wanted.Name(), method.Name, method.Type.String()[len("func"):])
			} else if pointer := reflect.PointerTo(kind); kind.Kind() == reflect.Struct && pointer.Implements(wanted) {
				t.Errorf("%v implements kubewasp.%s only as a pointer: it is never called. Let the factory return %v",
					kind, wanted.Name(), pointer)
			}
		}
	}
}
