package kubewasp

// Resource is a resource of nodes that pods request. CPU is in millicores, memory and storage in bytes, others in units.
// Extended resources come from Handle.Resource, called once in the constructor of the plugin.
type Resource struct {
	number int32 // one more than the host's number, so that the zero value is invalid
	name   string
}

// Resources of every node. Pods is the number of pods.
var (
	CPU              = Resource{1, "cpu"}
	Memory           = Resource{2, "memory"}
	EphemeralStorage = Resource{3, "ephemeral-storage"}
	Pods             = Resource{4, "pods"}
)

// firstResources is the number of predefined resources.
const firstResources = 4

// Name returns the name of the resource, e.g. "nvidia.com/gpu".
func (r Resource) Name() string { return r.name }
