package kubewasp

// NodeInfo is a node as the scheduler sees it: the Node object, how much of it is taken, and the pods on it. It has all
// methods of Node.
//
// There is one NodeInfo for each row of the scheduler's table, used again and again. It shows the node as it was when
// the hook was called; keep values that you read from it, not the NodeInfo itself.
type NodeInfo struct {
	Node
	// As the scheduler writes them: generation of the object, generation of all, non-zero requested CPU and memory, then
	// allocatable and requested for each resource.
	numbers        []int64
	pods           []*Pod
	podsGeneration int64
	podBytes       int
}

const (
	infoObject = iota
	infoAll
	infoNonZeroCPU
	infoNonZeroMemory
	infoResources
)

// maxPodBytes bounds what is kept of pods on nodes: 100,000 pods would not fit into a guest's memory.
const maxPodBytes = 32 << 20

// Row is the number of the node in the scheduler's table: from 0, and small. The row of a deleted node may be given to
// another one.
func (i *NodeInfo) Row() int { return i.row }

// Allocatable is how much of a resource the node has for pods.
func (i *NodeInfo) Allocatable(resource Resource) int64 {
	return i.number(infoResources - 2 + 2*int(resource.number))
}

// Requested is how much of a resource the pods on the node ask for.
func (i *NodeInfo) Requested(resource Resource) int64 {
	return i.number(infoResources - 1 + 2*int(resource.number))
}

// Free is how much of a resource is left.
func (i *NodeInfo) Free(resource Resource) int64 {
	return i.Allocatable(resource) - i.Requested(resource)
}

// NonZeroRequested is as Requested, but containers that do not ask for CPU or memory count with a small default. Scores
// are better made of it. For other resources it is as Requested.
func (i *NodeInfo) NonZeroRequested(resource Resource) int64 {
	switch {
	case len(i.numbers) == 0:
		return 0
	case resource == CPU:
		return i.numbers[infoNonZeroCPU]
	case resource == Memory:
		return i.numbers[infoNonZeroMemory]
	}
	return i.Requested(resource)
}

// PodCount is the number of pods on the node.
func (i *NodeInfo) PodCount() int { return int(i.Requested(Pods)) }

func (i *NodeInfo) number(place int) int64 {
	if place < len(i.numbers) && place >= infoResources {
		return i.numbers[place]
	}
	return i.lateNumber(place)
}

// lateNumber is of a resource that was asked for after the numbers were read.
func (i *NodeInfo) lateNumber(place int) int64 {
	if i.guest == nil || i.row < 0 || place < infoResources || place >= i.guest.numbersCount() {
		return 0
	}
	numbers := make([]int64, i.guest.numbersCount())
	if i.guest.host.NodeInfo(i.row, numbers) == 0 {
		return 0
	}
	i.numbers = numbers
	return numbers[place]
}

// Pods are the pods on the node. They are read when first asked for and kept until a pod comes or goes, or changes.
func (i *NodeInfo) Pods() []*Pod {
	if i.guest == nil || len(i.numbers) == 0 {
		return nil
	}
	if i.podBytes > 0 && i.podsGeneration == i.numbers[infoAll] {
		return i.pods
	}
	i.forgetPods()
	list := i.guest.readRow(i.guest.host.NodePods, i.row)
	pods := podsOf(list)
	// At least 1, which says that the list is there although it is empty.
	if size := len(list) + 1; i.guest.podBytes+size <= maxPodBytes {
		i.guest.podBytes += size
		i.pods, i.podBytes, i.podsGeneration = pods, size, i.numbers[infoAll]
	}
	return pods
}

func (i *NodeInfo) forgetPods() {
	i.guest.podBytes -= i.podBytes
	i.pods, i.podBytes = nil, 0
}

// podsOf reads the body of a PodList.
func podsOf(list Message) []*Pod {
	const items = 2
	count := list.count(items)
	if count == 0 {
		return nil
	}
	views, pods := make([]Pod, count), make([]*Pod, 0, count)
	for item := range list.Subs(items) {
		pod := &views[len(pods)]
		pod.read(item)
		pods = append(pods, pod)
	}
	return pods
}

// NodeCache keeps something made of each node, e.g. a number parsed from a label, until the node changes. Make it once,
// with the plugin:
//
//	prices := kubewasp.NewNodeCache(func(node *kubewasp.NodeInfo) int64 { return price(node.Labels().Get("price")) })
type NodeCache[T any] struct {
	make    func(*NodeInfo) T
	place   int // of the generation that must not have changed
	entries []cached[T]
}

type cached[T any] struct {
	value      T
	generation int64
	known      bool
}

// NewNodeCache makes a cache of something that depends on the Node object only: labels, taints, images, capacity.
func NewNodeCache[T any](make func(*NodeInfo) T) *NodeCache[T] {
	return &NodeCache[T]{make: make, place: infoObject}
}

// NewNodeInfoCache makes a cache of something that also depends on the pods on the node, or on what they request.
func NewNodeInfoCache[T any](make func(*NodeInfo) T) *NodeCache[T] {
	return &NodeCache[T]{make: make, place: infoAll}
}

// Get is the value for the node, made now if the node is new or has changed.
func (c *NodeCache[T]) Get(node *NodeInfo) T {
	if len(node.numbers) == 0 {
		return c.make(node)
	}
	generation := node.numbers[c.place]
	if node.row < len(c.entries) {
		if entry := &c.entries[node.row]; entry.known && entry.generation == generation {
			return entry.value
		}
	}
	value := c.make(node)
	if missing := node.row + 1 - len(c.entries); missing > 0 {
		c.entries = append(c.entries, make([]cached[T], missing)...)
	}
	c.entries[node.row] = cached[T]{value, generation, true}
	return value
}
