package kubewasp

import (
	"unsafe"

	"kubewasp.dev/sdk/internal/host"
)

// guest is one loaded plugin and all it has read of the cluster. Hot path: what is called once a node must not allocate.
// The test of the speed goals is tests/sdk/test_go_sdk.py.
type guest struct {
	host   host.Host
	handle Handle
	plugin implementation

	cycle  int // which pod the state is of
	pod    Pod
	target Pod
	state  *CycleState
	first  CycleState          // the state that a pod begins with
	copies map[int]*CycleState // for trials

	atHand    [3]int64 // what AtHand tells
	chunks    []*[chunkRows]NodeInfo
	resources int // how many the scheduler has given numbers to
	absent    NodeInfo
	podBytes  int

	buffer       []byte // what getters write into; good until the next one
	object       Message
	objectRow    int
	objectOf     int64 // the generation of the object
	objectBuffer []byte

	keys     keyTable
	feasible Nodes
	statuses NodeStatuses
	scores   NodeScores
	pairs    []int32
}

// NodeInfos lie in chunks that never move, so that a pointer to one stays good.
const (
	chunkBits = 8
	chunkRows = 1 << chunkBits
)

// Places in what AtHand tells; between them stands the generation of the node's object.
const (
	handCycle = 0
	handAll   = 2
)

func newGuest(of host.Host) *guest {
	g := &guest{host: of, resources: firstResources, buffer: make([]byte, 4096), objectRow: -1, cycle: -1}
	g.handle = Handle{guest: g, Log: Logger{guest: g, severity: -1}}
	g.state = &g.first
	g.pod.guest = g
	g.absent.guest = g
	g.absent.row = -1
	g.feasible.guest = g
	g.statuses.guest = g
	g.scores.Nodes = &g.feasible
	return g
}

// ---------------------------------------------------------------------- reading

// read is the value of a getter, in memory of its own.
func (g *guest) read(getter func([]byte) int) Message {
	length := getter(g.buffer)
	if length > len(g.buffer) {
		g.buffer = make([]byte, length+length/2)
		length = getter(g.buffer)
	}
	return Message(g.buffer[:min(length, len(g.buffer))])
}

// readRow is the value of a getter for a row. It may be large and is written right to where it stays.
func (g *guest) readRow(getter func(int, []byte) int, row int) Message {
	length := getter(row, g.buffer)
	if length <= len(g.buffer) {
		return Message(g.buffer[:length])
	}
	fresh := make([]byte, length)
	length = min(getter(row, fresh), len(fresh))
	return Message(unsafe.String(unsafe.SliceData(fresh), length))
}

// nodeObject is a Node in a buffer that the next call overwrites. Several parts of one node are often read in a row.
func (g *guest) nodeObject(row int, generation int64) Message {
	if row < 0 {
		return ""
	}
	if row == g.objectRow && generation == g.objectOf {
		return g.object
	}
	length := g.host.NodeObject(row, g.objectBuffer)
	if length > len(g.objectBuffer) {
		g.objectBuffer = make([]byte, length+length/2)
		length = g.host.NodeObject(row, g.objectBuffer)
	}
	length = min(length, len(g.objectBuffer))
	g.object = Message(unsafe.String(unsafe.SliceData(g.objectBuffer), length))
	g.objectRow, g.objectOf = row, generation
	return g.object
}

func (g *guest) nodeName(row int) string {
	if row < 0 {
		return string(g.read(g.host.CurrentNodeName))
	}
	return string(g.readRow(g.host.NodeName, row))
}

func (g *guest) numbersCount() int { return infoResources + 2*g.resources }

// nodeInfo is the node in a row, as it is now.
func (g *guest) nodeInfo(row int) *NodeInfo {
	if row < 0 {
		g.absent.decoded = 0
		return &g.absent
	}
	if row>>chunkBits >= len(g.chunks) || g.chunks[row>>chunkBits] == nil {
		g.makeChunk(row >> chunkBits)
	}
	info := &g.chunks[row>>chunkBits][row&(chunkRows-1)]
	if len(info.numbers) != g.numbersCount() {
		g.makeRoom(info)
	}
	if g.host.NodeInfo(row, info.numbers) < infoResources {
		g.forget(info)
		return info
	}
	if info.numbers[infoObject] != info.generation {
		if info.podBytes > 0 {
			info.forgetPods()
		}
		info.Node = Node{guest: g, row: row, generation: info.numbers[infoObject]}
	}
	return info
}

// makeRoom gives an empty row, or one that knows fewer resources than there are now, its numbers.
func (g *guest) makeRoom(info *NodeInfo) {
	if cap(info.numbers) < g.numbersCount() {
		info.numbers = make([]int64, g.numbersCount())
	}
	info.numbers = info.numbers[:g.numbersCount()]
}

// forget empties the NodeInfo of a row that has no node.
func (g *guest) forget(info *NodeInfo) {
	if info.podBytes > 0 {
		info.forgetPods()
	}
	info.Node = Node{guest: g, row: info.row}
	info.numbers = info.numbers[:0]
}

func (g *guest) makeChunk(place int) {
	for len(g.chunks) <= place {
		g.chunks = append(g.chunks, nil)
	}
	chunk := new([chunkRows]NodeInfo)
	numbers := make([]int64, chunkRows*g.numbersCount())
	for i := range chunk {
		chunk[i].guest = g
		chunk[i].row = place*chunkRows + i
		chunk[i].numbers = numbers[:0:g.numbersCount()]
		numbers = numbers[g.numbersCount():]
	}
	g.chunks[place] = chunk
}

// beginNode comes first in every hook of a pod's cycle that is about a node, and gives that node. One question tells
// whether what is known of the pod and of the node still holds: most often it does.
func (g *guest) beginNode() *NodeInfo {
	row := g.host.AtHand(&g.atHand)
	if number := int(g.atHand[handCycle]); number != g.cycle {
		g.cycle = number
		g.forgetPod()
	}
	if chunk := row >> chunkBits; row >= 0 && chunk < len(g.chunks) && g.chunks[chunk] != nil {
		info := &g.chunks[chunk][row&(chunkRows-1)]
		if len(info.numbers) == g.numbersCount() && info.numbers[infoAll] == g.atHand[handAll] {
			return info
		}
	}
	return g.nodeInfo(row)
}

// begin does the same in hooks without a node.
func (g *guest) begin() {
	if number := g.host.Cycle(); number != g.cycle {
		g.cycle = number
		g.forgetPod()
	}
}

func (g *guest) forgetPod() {
	g.pod.unread = true
	g.pod.decoded = 0
	g.pod.requests = g.pod.requests[:0]
	clear(g.copies)
	g.first.reset()
	g.state = &g.first
}

func (g *guest) targetPod() *Pod {
	g.target.read(g.read(g.host.TargetPod))
	return &g.target
}

// ---------------------------------------------------------------------- answering

func (g *guest) answer(status Status) int32 {
	if status.Code != CodeSuccess && status.Reason != "" {
		g.host.SendReason(status.Reason)
	}
	return int32(status.Code)
}
