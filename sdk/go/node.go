package kubewasp

import (
	"strings"
	"time"
)

// Node is a view of a Node object. Fields are decoded on first use and kept until the object changes; the rest of the
// object, which can be large, is not kept.
type Node struct {
	guest      *guest
	row        int
	object     Message // of a node without a row
	generation int64
	decoded    uint32
	name       string
	labels     Map[string]
	parts      *nodeParts
}

// nodeParts has the less common fields.
type nodeParts struct {
	annotations           Map[string]
	spec                  Message
	taints                []Taint
	conditions            []NodeCondition
	images                []Image
	addresses             []NodeAddress
	capacity, allocatable Map[Quantity]
}

const (
	nodeName = 1 << iota
	nodeLabels
	nodeAnnotations
	nodeSpec
	nodeTaints
	nodeConditions
	nodeImages
	nodeAddresses
	nodeCapacity
	nodeAllocatable
)

// Field numbers of NodeSpec and NodeStatus.
const (
	nodeSpecProviderID    = 3
	nodeSpecUnschedulable = 4
	nodeSpecTaints        = 5

	nodeStatusCapacity    = 1
	nodeStatusAllocatable = 2
	nodeStatusConditions  = 4
	nodeStatusAddresses   = 5
	nodeStatusImages      = 8
)

// NodeCondition is an entry of status.conditions.
type NodeCondition struct {
	Type               string
	Status             string
	Reason             string
	Message            string
	LastTransitionTime time.Time
}

// NodeAddress is an entry of status.addresses.
type NodeAddress struct {
	Type    string
	Address string
}

// Image is an image on the node, with all its names.
type Image struct {
	Names     []string
	SizeBytes int64
}

// NewNode returns a view of an encoded node.
func NewNode(object Message) *Node { return &Node{object: object} }

// bytes returns the whole object. For a row it is in a buffer that the next call overwrites: keep copies.
func (n *Node) bytes() Message {
	if n.guest == nil {
		return n.object
	}
	return n.guest.nodeObject(n.row, n.generation)
}

func (n *Node) part(number int) Message { return n.bytes().Sub(number) }

// first reports whether this is the first access to a field.
func (n *Node) first(part uint32) bool {
	if n.decoded&part != 0 {
		return false
	}
	if n.parts == nil {
		n.parts = new(nodeParts)
	}
	n.decoded |= part
	return true
}

// Name returns metadata.name.
func (n *Node) Name() string {
	if n.decoded&nodeName == 0 {
		n.decoded |= nodeName
		if n.guest != nil {
			n.name = n.guest.nodeName(n.row)
		} else {
			n.name = n.part(objectMeta).Text(metaName)
		}
	}
	return n.name
}

// UID returns metadata.uid.
func (n *Node) UID() string { return strings.Clone(n.part(objectMeta).Text(metaUID)) }

// CreationTimestamp returns metadata.creationTimestamp.
func (n *Node) CreationTimestamp() time.Time { return n.part(objectMeta).Time(metaCreation) }

// Labels returns metadata.labels.
func (n *Node) Labels() Map[string] {
	if n.decoded&nodeLabels == 0 {
		n.decoded |= nodeLabels
		n.labels = n.part(objectMeta).section(metaLabels).Map(metaLabels)
		if n.guest != nil && n.labels.entries != nil {
			n.labels.entries.keys = &n.guest.keys
		}
	}
	return n.labels
}

// Annotations returns metadata.annotations.
func (n *Node) Annotations() Map[string] {
	if n.first(nodeAnnotations) {
		n.parts.annotations = n.part(objectMeta).section(metaAnnotations).Map(metaAnnotations)
	}
	return n.parts.annotations
}

// Reference returns a reference to the node, for events.
func (n *Node) Reference() ObjectReference {
	reference := referenceTo("Node", n.part(objectMeta))
	reference.Name = n.Name()
	reference.UID = strings.Clone(reference.UID)
	reference.Namespace = ""
	reference.ResourceVersion = strings.Clone(reference.ResourceVersion)
	return reference
}

func (n *Node) spec() Message {
	if n.first(nodeSpec) {
		n.parts.spec = Message(strings.Clone(string(n.part(objectSpec))))
	}
	return n.parts.spec
}

// Unschedulable returns spec.unschedulable: whether the node is cordoned.
func (n *Node) Unschedulable() bool { return n.spec().Bool(nodeSpecUnschedulable) }

// ProviderID returns spec.providerID.
func (n *Node) ProviderID() string { return n.spec().Text(nodeSpecProviderID) }

// Taints returns spec.taints.
func (n *Node) Taints() []Taint {
	if n.first(nodeTaints) {
		n.parts.taints = taintsOf(n.spec())
	}
	return n.parts.taints
}

// Conditions returns status.conditions.
func (n *Node) Conditions() []NodeCondition {
	if n.first(nodeConditions) {
		kept := n.part(objectStatus).section(nodeStatusConditions)
		conditions := make([]NodeCondition, 0, kept.count(nodeStatusConditions))
		for sent := range kept.Subs(nodeStatusConditions) {
			conditions = append(conditions, NodeCondition{sent.Text(1), sent.Text(2), sent.Text(5), sent.Text(6), sent.Time(4)})
		}
		n.parts.conditions = conditions
	}
	return n.parts.conditions
}

// Condition returns the status of a condition, e.g. "True" for "Ready"; empty if it is missing.
func (n *Node) Condition(kind string) string {
	for i := range n.Conditions() {
		if n.parts.conditions[i].Type == kind {
			return n.parts.conditions[i].Status
		}
	}
	return ""
}

// Images returns status.images: images that need no pull.
func (n *Node) Images() []Image {
	if n.first(nodeImages) {
		kept := n.part(objectStatus).section(nodeStatusImages)
		images := make([]Image, 0, kept.count(nodeStatusImages))
		for sent := range kept.Subs(nodeStatusImages) {
			images = append(images, Image{sent.Texts(1), sent.Int(2)})
		}
		n.parts.images = images
	}
	return n.parts.images
}

// Addresses returns status.addresses.
func (n *Node) Addresses() []NodeAddress {
	if n.first(nodeAddresses) {
		kept := n.part(objectStatus).section(nodeStatusAddresses)
		addresses := make([]NodeAddress, 0, kept.count(nodeStatusAddresses))
		for sent := range kept.Subs(nodeStatusAddresses) {
			addresses = append(addresses, NodeAddress{sent.Text(1), sent.Text(2)})
		}
		n.parts.addresses = addresses
	}
	return n.parts.addresses
}

// CapacityQuantities returns status.capacity, as quantities.
func (n *Node) CapacityQuantities() Map[Quantity] {
	if n.first(nodeCapacity) {
		n.parts.capacity = n.part(objectStatus).section(nodeStatusCapacity).Quantities(nodeStatusCapacity)
	}
	return n.parts.capacity
}

// AllocatableQuantities returns status.allocatable, as quantities. NodeInfo.Allocatable has the numbers.
func (n *Node) AllocatableQuantities() Map[Quantity] {
	if n.first(nodeAllocatable) {
		n.parts.allocatable = n.part(objectStatus).section(nodeStatusAllocatable).Quantities(nodeStatusAllocatable)
	}
	return n.parts.allocatable
}

// Proto returns a new copy of the whole object, for fields without a method. The object can be large: if you need it for
// every node, keep derived values in a NodeCache.
func (n *Node) Proto() Message { return Message(strings.Clone(string(n.bytes()))) }
