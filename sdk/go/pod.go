package kubewasp

import "time"

// Pod is a view of an encoded pod; fields are decoded on first use. Strings share its memory: keeping one keeps the whole
// pod.
type Pod struct {
	raw, meta, spec, status Message
	unread                  bool   // the current pod is read on first use
	guest                   *guest // of the current pod, whose requests the host has
	requests                []int64
	decoded                 uint32
	parts                   *podParts
}

// podParts has the decoded fields, allocated on first use so that unread pods stay small.
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

// NewPod returns a view of an encoded pod.
func NewPod(object Message) *Pod {
	pod := new(Pod)
	pod.read(object)
	return pod
}

// read takes an encoded pod. Several occurrences of a part are merged: the scheduler appends the node of a pod that way.
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

// metadata returns the metadata, to read a field of it.
func (p *Pod) metadata(field int) Message {
	p.ensure()
	if p.guest != nil {
		p.guest.reads.metadata |= 1 << field
	}
	return p.meta
}

// specification returns the spec, to read a field of it.
func (p *Pod) specification(field int) Message {
	p.ensure()
	if p.guest != nil {
		p.guest.reads.spec |= 1 << field
	}
	return p.spec
}

func (p *Pod) statusMessage() Message {
	p.ensure()
	p.reads(readStatus)
	return p.status
}

func (p *Pod) reads(other uint32) {
	if p.guest != nil {
		p.guest.reads.others |= other
	}
}

// first reports whether this is the first access to a field.
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

// Name returns metadata.name.
func (p *Pod) Name() string { return p.metadata(metaName).Text(metaName) }

// Namespace returns metadata.namespace.
func (p *Pod) Namespace() string { return p.metadata(metaNamespace).Text(metaNamespace) }

// UID returns metadata.uid.
func (p *Pod) UID() string { return p.metadata(metaUID).Text(metaUID) }

// Labels returns metadata.labels.
func (p *Pod) Labels() Map[string] {
	if meta := p.metadata(metaLabels); p.first(podLabels) {
		p.parts.labels = meta.Map(metaLabels)
	}
	return p.parts.labels
}

// Annotations returns metadata.annotations.
func (p *Pod) Annotations() Map[string] {
	if meta := p.metadata(metaAnnotations); p.first(podAnnotations) {
		p.parts.annotations = meta.Map(metaAnnotations)
	}
	return p.parts.annotations
}

// CreationTimestamp returns metadata.creationTimestamp.
func (p *Pod) CreationTimestamp() time.Time { return p.metadata(metaCreation).Time(metaCreation) }

// DeletionTimestamp returns metadata.deletionTimestamp; zero unless the pod is being deleted.
func (p *Pod) DeletionTimestamp() time.Time { return p.metadata(metaDeletion).Time(metaDeletion) }

// OwnerReferences returns metadata.ownerReferences.
func (p *Pod) OwnerReferences() []OwnerReference { return ownersOf(p.metadata(metaOwners)) }

// Reference returns a reference to the pod, for events.
func (p *Pod) Reference() ObjectReference {
	p.metadata(metaNamespace)
	p.metadata(metaUID)
	p.metadata(metaResourceVersion)
	return referenceTo("Pod", p.metadata(metaName))
}

// NodeName returns spec.nodeName, the node of the pod.
func (p *Pod) NodeName() string { return p.specification(podSpecNodeName).Text(podSpecNodeName) }

// SchedulerName returns spec.schedulerName.
func (p *Pod) SchedulerName() string {
	return p.specification(podSpecSchedulerName).Text(podSpecSchedulerName)
}

// Priority returns spec.priority; 0 if there is none.
func (p *Pod) Priority() int32 { return int32(p.specification(podSpecPriority).Int(podSpecPriority)) }

// PriorityClassName returns spec.priorityClassName.
func (p *Pod) PriorityClassName() string {
	return p.specification(podSpecPriorityClassName).Text(podSpecPriorityClassName)
}

// PreemptionPolicy returns spec.preemptionPolicy.
func (p *Pod) PreemptionPolicy() string {
	return p.specification(podSpecPreemptionPolicy).Text(podSpecPreemptionPolicy)
}

// HostNetwork returns spec.hostNetwork.
func (p *Pod) HostNetwork() bool { return p.specification(podSpecHostNetwork).Bool(podSpecHostNetwork) }

// NodeSelector returns spec.nodeSelector.
func (p *Pod) NodeSelector() Map[string] {
	if spec := p.specification(podSpecNodeSelector); p.first(podNodeSelector) {
		p.parts.nodeSelector = spec.Map(podSpecNodeSelector)
	}
	return p.parts.nodeSelector
}

// Tolerations returns spec.tolerations.
func (p *Pod) Tolerations() []Toleration {
	if spec := p.specification(podSpecTolerations); p.first(podTolerations) {
		p.parts.tolerations = tolerationsOf(spec)
	}
	return p.parts.tolerations
}

// Tolerates reports whether the pod tolerates the taint.
func (p *Pod) Tolerates(taint Taint) bool {
	for i := range p.Tolerations() {
		if p.parts.tolerations[i].Tolerates(taint) {
			return true
		}
	}
	return false
}

// Containers returns spec.containers.
func (p *Pod) Containers() []Container {
	if spec := p.specification(podSpecContainers); p.first(podContainers) {
		p.parts.containers = containersOf(spec, podSpecContainers)
	}
	return p.parts.containers
}

// InitContainers returns spec.initContainers.
func (p *Pod) InitContainers() []Container {
	if spec := p.specification(podSpecInitContainers); p.first(podInitContainers) {
		p.parts.initContainers = containersOf(spec, podSpecInitContainers)
	}
	return p.parts.initContainers
}

// Overhead returns spec.overhead.
func (p *Pod) Overhead() Map[Quantity] {
	return p.specification(podSpecOverhead).Quantities(podSpecOverhead)
}

// SchedulingGates returns the names in spec.schedulingGates.
func (p *Pod) SchedulingGates() []string {
	var gates []string
	for gate := range p.specification(podSpecSchedulingGates).Subs(podSpecSchedulingGates) {
		gates = append(gates, gate.Text(1))
	}
	return gates
}

// TerminationGracePeriod returns spec.terminationGracePeriodSeconds; 30 s by default, as in Kubernetes.
func (p *Pod) TerminationGracePeriod() time.Duration {
	if !p.specification(podSpecTerminationGrace).Has(podSpecTerminationGrace) {
		return 30 * time.Second
	}
	return time.Duration(p.specification(podSpecTerminationGrace).Int(podSpecTerminationGrace)) * time.Second
}

// Phase returns status.phase.
func (p *Pod) Phase() string { return p.statusMessage().Text(1) }

// NominatedNodeName returns status.nominatedNodeName.
func (p *Pod) NominatedNodeName() string { return p.statusMessage().Text(11) }

// Proto returns the whole pod, for fields without a method.
func (p *Pod) Proto() Message {
	p.ensure()
	p.reads(readObject)
	return p.raw
}

// Requests returns the effective request for a resource by the rules of the scheduler: containers, init containers,
// sidecars, overhead, pod-level resources. CPU is in millicores.
func (p *Pod) Requests(resource Resource) int64 {
	switch {
	case resource == Pods:
		return 1
	case p.guest != nil && resource.number > 0:
		return p.known(1 + int(resource.number))
	}
	return requestsOf(p, resource)
}

// NonZeroRequests is like Requests, with a small default for containers that request no CPU or memory. It is available
// for CPU and Memory of the current pod; otherwise it equals Requests.
func (p *Pod) NonZeroRequests(resource Resource) int64 {
	if p.guest != nil && (resource == CPU || resource == Memory) {
		return p.known(int(resource.number) - 1)
	}
	return p.Requests(resource)
}

// known returns an amount that the host has for the current pod. All amounts are read at once.
func (p *Pod) known(place int) int64 {
	p.reads(readRequests)
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
