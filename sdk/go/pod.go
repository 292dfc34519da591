package kubewasp

import "time"

// Pod is a view of a pod: the bytes as the API server wrote them, of which only what is asked for is decoded. Texts are
// parts of these bytes; keeping one keeps the whole pod in memory.
type Pod struct {
	raw, meta, spec, status Message
	unread                  bool   // the pod being scheduled is read when it is first looked at
	guest                   *guest // of the pod being scheduled, whose requests the scheduler knows
	requests                []int64
	decoded                 uint32
	parts                   *podParts
}

// podParts is what was decoded, in a place of its own so that a pod that nobody looks into stays small.
type podParts struct {
	labels, annotations, nodeSelector Map[string]
	containers, initContainers        []Container
	tolerations                       []Toleration
}

const (
	podLabels = 1 << iota
	podAnnotations
	podNodeSelector
	podContainers
	podInitContainers
	podTolerations
)

// Field numbers of PodSpec.
const (
	podSpecContainers        = 2
	podSpecTerminationGrace  = 4
	podSpecNodeSelector      = 7
	podSpecNodeName          = 10
	podSpecHostNetwork       = 11
	podSpecSchedulerName     = 19
	podSpecInitContainers    = 20
	podSpecTolerations       = 22
	podSpecPriorityClassName = 24
	podSpecPriority          = 25
	podSpecPreemptionPolicy  = 31
	podSpecOverhead          = 32
	podSpecSchedulingGates   = 38
	podSpecResources         = 40
)

// NewPod is a view of an encoded pod.
func NewPod(object Message) *Pod {
	pod := new(Pod)
	pod.read(object)
	return pod
}

// read takes an encoded pod. A part may come in pieces, which together are the part: the scheduler adds the node of a pod
// that way.
func (p *Pod) read(object Message) {
	p.raw, p.meta, p.spec, p.status = object, "", "", ""
	p.unread, p.decoded = false, 0
	for at := 0; at < len(object); {
		field, wire, content, _, next := object.next(at)
		if next < 0 {
			return
		}
		if wire == wireBytes {
			switch field {
			case objectMeta:
				p.meta += content
			case objectSpec:
				p.spec += content
			case objectStatus:
				p.status += content
			}
		}
		at = next
	}
}

func (p *Pod) ensure() {
	if p.unread {
		p.read(p.guest.read(p.guest.host.CurrentPod))
	}
}

func (p *Pod) metadata() Message {
	p.ensure()
	return p.meta
}

func (p *Pod) specification() Message {
	p.ensure()
	return p.spec
}

func (p *Pod) statusMessage() Message {
	p.ensure()
	return p.status
}

// first says whether a part is asked for for the first time.
func (p *Pod) first(part uint32) bool {
	p.ensure()
	if p.decoded&part != 0 {
		return false
	}
	if p.parts == nil {
		p.parts = new(podParts)
	}
	p.decoded |= part
	return true
}

// Name is metadata.name.
func (p *Pod) Name() string { return p.metadata().Text(metaName) }

// Namespace is metadata.namespace.
func (p *Pod) Namespace() string { return p.metadata().Text(metaNamespace) }

// UID is metadata.uid.
func (p *Pod) UID() string { return p.metadata().Text(metaUID) }

// Labels is metadata.labels.
func (p *Pod) Labels() Map[string] {
	if p.first(podLabels) {
		p.parts.labels = p.metadata().Map(metaLabels)
	}
	return p.parts.labels
}

// Annotations is metadata.annotations.
func (p *Pod) Annotations() Map[string] {
	if p.first(podAnnotations) {
		p.parts.annotations = p.metadata().Map(metaAnnotations)
	}
	return p.parts.annotations
}

// CreationTimestamp is metadata.creationTimestamp.
func (p *Pod) CreationTimestamp() time.Time { return p.metadata().Time(metaCreation) }

// DeletionTimestamp is metadata.deletionTimestamp; zero unless the pod is being deleted.
func (p *Pod) DeletionTimestamp() time.Time { return p.metadata().Time(metaDeletion) }

// OwnerReferences is metadata.ownerReferences.
func (p *Pod) OwnerReferences() []OwnerReference { return ownersOf(p.metadata()) }

// Reference names the pod in an event.
func (p *Pod) Reference() ObjectReference { return referenceTo("Pod", p.metadata()) }

// NodeName is spec.nodeName, the node that the pod is on.
func (p *Pod) NodeName() string { return p.specification().Text(podSpecNodeName) }

// SchedulerName is spec.schedulerName.
func (p *Pod) SchedulerName() string { return p.specification().Text(podSpecSchedulerName) }

// Priority is spec.priority; 0 if there is none.
func (p *Pod) Priority() int32 { return int32(p.specification().Int(podSpecPriority)) }

// PriorityClassName is spec.priorityClassName.
func (p *Pod) PriorityClassName() string { return p.specification().Text(podSpecPriorityClassName) }

// PreemptionPolicy is spec.preemptionPolicy.
func (p *Pod) PreemptionPolicy() string { return p.specification().Text(podSpecPreemptionPolicy) }

// HostNetwork is spec.hostNetwork.
func (p *Pod) HostNetwork() bool { return p.specification().Bool(podSpecHostNetwork) }

// NodeSelector is spec.nodeSelector.
func (p *Pod) NodeSelector() Map[string] {
	if p.first(podNodeSelector) {
		p.parts.nodeSelector = p.specification().Map(podSpecNodeSelector)
	}
	return p.parts.nodeSelector
}

// Tolerations is spec.tolerations.
func (p *Pod) Tolerations() []Toleration {
	if p.first(podTolerations) {
		p.parts.tolerations = tolerationsOf(p.specification())
	}
	return p.parts.tolerations
}

// Tolerates says whether one of the pod's tolerations is for this taint.
func (p *Pod) Tolerates(taint Taint) bool {
	for i := range p.Tolerations() {
		if p.parts.tolerations[i].Tolerates(taint) {
			return true
		}
	}
	return false
}

// Containers is spec.containers.
func (p *Pod) Containers() []Container {
	if p.first(podContainers) {
		p.parts.containers = containersOf(p.specification(), podSpecContainers)
	}
	return p.parts.containers
}

// InitContainers is spec.initContainers.
func (p *Pod) InitContainers() []Container {
	if p.first(podInitContainers) {
		p.parts.initContainers = containersOf(p.specification(), podSpecInitContainers)
	}
	return p.parts.initContainers
}

// Overhead is spec.overhead.
func (p *Pod) Overhead() Map[Quantity] { return p.specification().Quantities(podSpecOverhead) }

// SchedulingGates are the names in spec.schedulingGates.
func (p *Pod) SchedulingGates() []string {
	var gates []string
	for gate := range p.specification().Subs(podSpecSchedulingGates) {
		gates = append(gates, gate.Text(1))
	}
	return gates
}

// TerminationGracePeriod is spec.terminationGracePeriodSeconds; 30 s if it is not set, as Kubernetes has it.
func (p *Pod) TerminationGracePeriod() time.Duration {
	if !p.specification().Has(podSpecTerminationGrace) {
		return 30 * time.Second
	}
	return time.Duration(p.specification().Int(podSpecTerminationGrace)) * time.Second
}

// Phase is status.phase.
func (p *Pod) Phase() string { return p.statusMessage().Text(1) }

// NominatedNodeName is status.nominatedNodeName.
func (p *Pod) NominatedNodeName() string { return p.statusMessage().Text(11) }

// Proto is the whole pod, for fields that have no method here.
func (p *Pod) Proto() Message {
	p.ensure()
	return p.raw
}

// Requests is how much of a resource the pod asks for, counted as the scheduler does: containers and init containers,
// sidecars, overhead, pod-level resources. CPU is in thousandths.
func (p *Pod) Requests(resource Resource) int64 {
	switch {
	case resource == Pods:
		return 1
	case p.guest != nil && resource.number > 0:
		return p.known(1 + int(resource.number))
	}
	return requestsOf(p, resource)
}

// NonZeroRequests is as Requests, but containers that do not ask for CPU or memory count with a small default. It is
// known for the pod being scheduled, and for CPU and Memory; else it is as Requests.
func (p *Pod) NonZeroRequests(resource Resource) int64 {
	if p.guest != nil && (resource == CPU || resource == Memory) {
		return p.known(int(resource.number) - 1)
	}
	return p.Requests(resource)
}

// known is a number that the scheduler has for the pod at hand. All of them are read at once.
func (p *Pod) known(place int) int64 {
	if place >= len(p.requests) {
		count := max(place+1, 2+p.guest.resources)
		if cap(p.requests) < count {
			p.requests = make([]int64, count)
		}
		p.requests = p.requests[:count]
		clear(p.requests)
		p.guest.host.PodRequests(p.requests)
	}
	return p.requests[place]
}
