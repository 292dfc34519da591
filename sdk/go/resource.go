package kubewasp

// Resource is something that nodes have and pods ask for. CPU is counted in thousandths, memory and storage in bytes,
// anything else as it is. Get other ones from Handle.Resource, once, when the plugin is made.
type Resource struct {
	number int32 // one more than the scheduler's, so that the zero value is none
	name   string
}

// The resources that every node has. Pods counts pods: how many a node takes, and has.
var (
	CPU              = Resource{1, "cpu"}
	Memory           = Resource{2, "memory"}
	EphemeralStorage = Resource{3, "ephemeral-storage"}
	Pods             = Resource{4, "pods"}
)

// firstResources is how many resources are known without asking.
const firstResources = 4

// Name is the resource's name, e.g. "nvidia.com/gpu".
func (r Resource) Name() string { return r.name }
