//go:build !wasip1

package kubewasptest

import (
	"time"

	kubewasp "kubewasp.dev/sdk"
)

// Resources are amounts by resource: Resources{"cpu": "500m", "nvidia.com/gpu": "1"}.
type Resources map[string]string

// Pod is a pod for a test. Empty fields have the defaults of Kubernetes; the default namespace is "default", the UID is
// derived from namespace and name.
type Pod struct {
	Name, Namespace, UID    string
	Labels, Annotations     map[string]string
	CreationTimestamp       time.Time
	DeletionTimestamp       time.Time
	OwnerReferences         []kubewasp.OwnerReference
	NodeName, SchedulerName string
	Priority                int32
	PriorityClassName       string
	PreemptionPolicy        string
	NodeSelector            map[string]string
	Tolerations             []kubewasp.Toleration
	HostNetwork             bool
	Overhead                Resources
	SchedulingGates         []string
	// TerminationGracePeriod defaults to 30 s.
	TerminationGracePeriod *time.Duration
	Phase                  string
	NominatedNodeName      string

	// Image and Requests belong to a single container. Use Containers for several.
	Image          string
	Requests       Resources
	Containers     []Container
	InitContainers []Container
	// PodRequests are pod-level requests (spec.resources.requests).
	PodRequests Resources
}

// Container is a container of a pod. An init container with Sidecar keeps running beside the others.
type Container struct {
	Name, Image      string
	Requests, Limits Resources
	Ports            []kubewasp.Port
	Sidecar          bool
}

// Node is a node for a test. Allocatable defaults to 110 pods.
type Node struct {
	Name, UID             string
	Labels, Annotations   map[string]string
	CreationTimestamp     time.Time
	Unschedulable         bool
	ProviderID            string
	Taints                []kubewasp.Taint
	Allocatable, Capacity Resources
	Conditions            []kubewasp.NodeCondition
	Addresses             []kubewasp.NodeAddress
	Images                []kubewasp.Image
}

func (p Pod) withDefaults() Pod {
	if p.Namespace == "" {
		p.Namespace = "default"
	}
	if p.UID == "" {
		p.UID = p.Namespace + "/" + p.Name
	}
	if len(p.Containers) == 0 {
		p.Containers = []Container{{Name: "main", Image: p.Image, Requests: p.Requests}}
	}
	return p
}

// Encode returns the pod in protobuf, in the form of the API server.
func (p Pod) Encode() kubewasp.Message {
	p = p.withDefaults()
	var meta, spec, status encoder
	meta.metadata(p.Name, p.Namespace, p.UID, p.CreationTimestamp, p.DeletionTimestamp, p.Labels, p.Annotations)
	for _, owner := range p.OwnerReferences {
		meta.message(13, func(e *encoder) {
			e.text(1, owner.Kind)
			e.text(3, owner.Name)
			e.text(4, owner.UID)
			e.text(5, owner.APIVersion)
			e.bool(6, owner.Controller)
		})
	}
	for _, container := range p.Containers {
		spec.message(2, container.encode)
	}
	if p.TerminationGracePeriod != nil {
		spec.int(4, int64(*p.TerminationGracePeriod/time.Second))
	}
	spec.texts(7, p.NodeSelector)
	spec.text(10, p.NodeName)
	spec.bool(11, p.HostNetwork)
	spec.text(19, p.SchedulerName)
	for _, container := range p.InitContainers {
		spec.message(20, container.encode)
	}
	for _, toleration := range p.Tolerations {
		spec.message(22, func(e *encoder) {
			e.text(1, toleration.Key)
			e.text(2, toleration.Operator)
			e.text(3, toleration.Value)
			e.text(4, toleration.Effect)
			if toleration.Seconds != nil {
				e.int(5, *toleration.Seconds)
			}
		})
	}
	spec.text(24, p.PriorityClassName)
	spec.int(25, int64(p.Priority))
	if p.PreemptionPolicy != "" {
		spec.text(31, p.PreemptionPolicy)
	}
	spec.quantities(32, p.Overhead)
	for _, gate := range p.SchedulingGates {
		spec.message(38, func(e *encoder) { e.text(1, gate) })
	}
	if p.PodRequests != nil {
		spec.message(40, func(e *encoder) { e.quantities(2, p.PodRequests) })
	}
	status.text(1, p.Phase)
	status.text(11, p.NominatedNodeName)
	return object(meta, spec, status)
}

func (c Container) encode(e *encoder) {
	e.text(1, c.Name)
	e.text(2, c.Image)
	for _, port := range c.Ports {
		e.message(6, func(e *encoder) {
			e.text(1, port.Name)
			e.int(2, int64(port.HostPort))
			e.int(3, int64(port.ContainerPort))
			e.text(4, port.Protocol)
			e.text(5, port.HostIP)
		})
	}
	e.message(8, func(e *encoder) {
		e.quantities(1, c.Limits)
		e.quantities(2, c.Requests)
	})
	if c.Sidecar {
		e.text(24, "Always")
	}
}

// Encode returns the node in protobuf, in the form of the API server.
func (n Node) Encode() kubewasp.Message {
	if n.UID == "" {
		n.UID = "node/" + n.Name
	}
	var meta, spec, status encoder
	meta.metadata(n.Name, "", n.UID, n.CreationTimestamp, time.Time{}, n.Labels, n.Annotations)
	spec.text(3, n.ProviderID)
	spec.bool(4, n.Unschedulable)
	for _, taint := range n.Taints {
		spec.message(5, func(e *encoder) {
			e.text(1, taint.Key)
			e.text(2, taint.Value)
			e.text(3, taint.Effect)
			if !taint.TimeAdded.IsZero() {
				e.time(4, taint.TimeAdded)
			}
		})
	}
	status.quantities(1, n.Capacity)
	status.quantities(2, n.Allocatable)
	for _, condition := range n.Conditions {
		status.message(4, func(e *encoder) {
			e.text(1, condition.Type)
			e.text(2, condition.Status)
			e.time(4, condition.LastTransitionTime)
			e.text(5, condition.Reason)
			e.text(6, condition.Message)
		})
	}
	for _, address := range n.Addresses {
		status.message(5, func(e *encoder) {
			e.text(1, address.Type)
			e.text(2, address.Address)
		})
	}
	for _, image := range n.Images {
		status.message(8, func(e *encoder) {
			for _, name := range image.Names {
				e.text(1, name)
			}
			e.int(2, image.SizeBytes)
		})
	}
	return object(meta, spec, status)
}

func object(meta, spec, status encoder) kubewasp.Message {
	var whole encoder
	whole.bytes(1, meta.out)
	whole.bytes(2, spec.out)
	whole.bytes(3, status.out)
	return kubewasp.Message(whole.out)
}
