package kubewasp

// Container is a view of one container of a pod.
type Container struct {
	raw Message
}

// Port is a port of a container.
type Port struct {
	Name          string
	ContainerPort int32
	HostPort      int32
	HostIP        string
	Protocol      string
}

// Field numbers of Container.
const (
	containerPorts         = 6
	containerResources     = 8
	containerRestartPolicy = 24
	resourceLimits         = 1
	resourceRequests       = 2
)

func containersOf(spec Message, field int) []Container {
	containers := make([]Container, 0, spec.count(field))
	for container := range spec.Subs(field) {
		containers = append(containers, Container{container})
	}
	return containers
}

// Name returns the container's name.
func (c Container) Name() string { return c.raw.Text(1) }

// Image returns the container's image.
func (c Container) Image() string { return c.raw.Text(2) }

// Requests returns resources.requests.
func (c Container) Requests() Map[Quantity] {
	return c.raw.Sub(containerResources).Quantities(resourceRequests)
}

// Limits returns resources.limits.
func (c Container) Limits() Map[Quantity] {
	return c.raw.Sub(containerResources).Quantities(resourceLimits)
}

// Ports returns the container's ports.
func (c Container) Ports() []Port {
	var ports []Port
	for port := range c.raw.Subs(containerPorts) {
		ports = append(ports, Port{
			Name:          port.Text(1),
			HostPort:      int32(port.Int(2)),
			ContainerPort: int32(port.Int(3)),
			Protocol:      port.Text(4),
			HostIP:        port.Text(5),
		})
	}
	return ports
}

// IsSidecar reports whether an init container is a sidecar, which keeps running beside the others.
func (c Container) IsSidecar() bool { return c.raw.Text(containerRestartPolicy) == "Always" }

// Proto returns the whole container, for fields without a method.
func (c Container) Proto() Message { return c.raw }

// requestsOf returns effective requests by the rules of the scheduler. Init containers run one after the other, each
// beside the sidecars started before it.
func requestsOf(pod *Pod, resource Resource) int64 {
	var running, sidecars, highest int64
	for _, container := range pod.Containers() {
		running += requestOf(container.Requests(), resource)
	}
	for _, container := range pod.InitContainers() {
		request := requestOf(container.Requests(), resource)
		if container.IsSidecar() {
			sidecars += request
			highest = max(highest, sidecars)
		} else {
			highest = max(highest, sidecars+request)
		}
	}
	total := max(running+sidecars, highest)
	if resource == CPU || resource == Memory { // resources of pod-level requests
		podLevel := pod.specification(podSpecResources).Sub(podSpecResources).Quantities(resourceRequests)
		if request, set := podLevel.Lookup(resource.name); set {
			total = request.In(resource)
		}
	}
	return total + requestOf(pod.Overhead(), resource)
}

func requestOf(requests Map[Quantity], resource Resource) int64 {
	return requests.Get(resource.name).In(resource)
}
