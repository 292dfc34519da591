package kubewasp

// EventResource is the kind of object that changed.
type EventResource int32

// The kinds of objects whose changes can be registered for.
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

// EventAction says what happened to an object; actions can be combined with |.
type EventAction uint32

// What can happen to an object.
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

// ClusterEvent is a change that may help a pod this plugin turned down.
type ClusterEvent struct {
	Resource EventResource
	Actions  EventAction
}

// Change is one change of the cluster, as QueueingHint sees it.
type Change struct {
	// Resource and Action say what changed, and how.
	Resource EventResource
	Action   EventAction

	before, after Message
}

// OldPod is the pod as it was; nil if it is new, or if it was no pod that changed.
func (c *Change) OldPod() *Pod { return c.pod(c.before) }

// NewPod is the pod as it is; nil if it was deleted, or if it was no pod that changed.
func (c *Change) NewPod() *Pod { return c.pod(c.after) }

// OldNode is the node as it was; nil if it is new, or if it was no node that changed.
func (c *Change) OldNode() *Node { return c.node(c.before) }

// NewNode is the node as it is; nil if it was deleted, or if it was no node that changed.
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
