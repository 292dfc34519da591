package kubewasp

// EventResource is the kind of object that changed.
type EventResource int32

// Kinds of objects with cluster events.
const (
	EventPod EventResource = iota
	EventNode
	EventPersistentVolume
	EventPersistentVolumeClaim
	EventPodSchedulingContext
	EventResourceClaim
	EventStorageClass
	EventCSINode
	EventCSIDriver
	EventCSIStorageCapacity
	EventAny
)

// EventAction is a set of changes to an object; actions are combined with |.
type EventAction uint32

// Changes to an object.
const (
	Add EventAction = 1 << iota
	Delete
	UpdateNodeAllocatable
	UpdateNodeLabel
	UpdateNodeTaint
	UpdateNodeCondition
	UpdateNodeAnnotation
	UpdateNodeDeclaredFeature
	UpdatePodLabel
	UpdatePodScaleDown
	UpdatePodToleration
	UpdatePodSchedulingGatesEliminated
	UpdatePodGeneratedResourceClaim
	UpdateOther

	Update    EventAction = 1<<14 - 4
	AnyAction EventAction = 1<<14 - 1
)

// ClusterEvent is a change that may make a pod schedulable after a rejection by this plugin.
type ClusterEvent struct {
	Resource EventResource
	Actions  EventAction
}

// Change is a change of the cluster, passed to QueueingHint.
type Change struct {
	// Resource is the kind of the object, Action the change.
	Resource EventResource
	Action   EventAction

	before, after Message
}

// OldPod returns the pod before the change; nil for a new pod or another kind of object.
func (c *Change) OldPod() *Pod { return c.pod(c.before) }

// NewPod returns the pod after the change; nil for a deleted pod or another kind of object.
func (c *Change) NewPod() *Pod { return c.pod(c.after) }

// OldNode returns the node before the change; nil for a new node or another kind of object.
func (c *Change) OldNode() *Node { return c.node(c.before) }

// NewNode returns the node after the change; nil for a deleted node or another kind of object.
func (c *Change) NewNode() *Node { return c.node(c.after) }

func (c *Change) pod(object Message) *Pod {
	if c.Resource != EventPod || object == "" {
		return nil
	}
	return NewPod(object)
}

func (c *Change) node(object Message) *Node {
	if c.Resource != EventNode || object == "" {
		return nil
	}
	return NewNode(object)
}
