package kubewasp

import (
	"unsafe"

	"kubewasp.dev/sdk/internal/host"
)

// guest is a loaded plugin with its view of the cluster. HOT PATH: functions called once per node must not allocate
// (guard: tests/sdk/test_go_sdk.py).
type guest struct {
	host   host.Host
	handle Handle
	plugin implementation

	cycle  int // number of the pod's cycle
	pod    Pod
	target Pod

	reads    podFields // fields of the pod that hooks have read
	reported podFields // fields that the scheduler knows of

	state  *CycleState
	first  CycleState          // initial state of a pod
	copies map[int]*CycleState // states of preemption trials

	atHand    [3]int64 // result of AtHand
	chunks    []*[chunkRows]NodeInfo
	resources int // number of registered resources
	absent    NodeInfo
	podBytes  int

	buffer       []byte // shared by getters, valid until the next call
	object       Message
	objectRow    int
	objectOf     int64 // generation of the object
	objectBuffer []byte

	keys     keyTable
	feasible Nodes
	statuses NodeStatuses
	scores   NodeScores
	pairs    []int32
}

// NodeInfos are in chunks that never move, so that pointers stay valid.
const (
	chunkBits = 8
	chunkRows = 1 << chunkBits
)

// Indexes into the result of AtHand; the index between them is the generation of the node's object.
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

// read returns the value of a getter, in memory of its own.
func (g *guest) read(getter func([]byte) int) Message {
	length := getter(g.buffer)
	if length > len(g.buffer) {
		g.buffer = make([]byte, length+length/2)
		length = getter(g.buffer)
	}
	return Message(g.buffer[:min(length, len(g.buffer))])
}

// readRow returns the value of a getter for a row, written directly to its final memory.
func (g *guest) readRow(getter func(int, []byte) int, row int) Message {
	length := getter(row, g.buffer)
	if length <= len(g.buffer) {
		return Message(g.buffer[:length])
	}
	fresh := make([]byte, length)
	length = min(getter(row, fresh), len(fresh))
	return Message(unsafe.String(unsafe.SliceData(fresh), length))
}

// nodeObject returns a Node in a buffer that the next call overwrites. Consecutive reads of one node share the buffer.
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

// nodeInfo returns the current node of a row.
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

// makeRoom allocates the numbers of a row that is new or lacks registered resources.
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

// beginNode starts a hook of a pod's cycle on a node, and returns the node. A single host call reports whether the known
// pod and node are still current, which is the usual case.
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

// begin starts a hook without a node.
func (g *guest) begin() {
	if number := g.host.Cycle(); number != g.cycle {
		g.cycle = number
		g.forgetPod()
	}
}

func (g *guest) forgetPod() {
	g.reads = g.reported // those of hooks whose reads do not matter are forgotten
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

// ---------------------------------------------------------------------- results

func (g *guest) answer(status Status) int32 {
	if status.Code != CodeSuccess {
		if status.Reason != "" {
			g.host.SendReason(status.Reason)
		}
		if hint := status.Hint(); hint != "" {
			g.host.SendHint(hint)
		}
	}
	return int32(status.Code)
}
