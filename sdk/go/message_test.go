package kubewasp

import (
	"slices"
	"testing"
	"time"
)

// sample has a field of each kind: 1 text, 2 number, 3 message, 4 repeated text, 5 map, 6 fixed64, 7 fixed32.
const sample = Message("\x0a\x03abc" + "\x10\x96\x01" + "\x1a\x02\x08\x01" + "\x22\x01x\x22\x01y" +
	"\x2a\x06\x0a\x01k\x12\x01v" + "\x31\x01\x02\x03\x04\x05\x06\x07\x08" + "\x3d\x01\x02\x03\x04")

func TestMessageReadsEachKindOfField(t *testing.T) {
	if got := sample.Text(1); got != "abc" {
		t.Errorf("text is %q", got)
	}
	if got := sample.Int(2); got != 150 {
		t.Errorf("number is %d", got)
	}
	if !sample.Sub(3).Bool(1) {
		t.Error("the message's boolean is false")
	}
	if got := sample.Texts(4); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("texts are %q", got)
	}
	if got := sample.Map(5).Get("k"); got != "v" {
		t.Errorf("map has %q", got)
	}
	if !sample.Has(6) || !sample.Has(7) || sample.Has(8) {
		t.Error("Has is wrong")
	}
}

func TestAFieldOfAnotherTypeIsZero(t *testing.T) {
	if sample.Int(1) != 0 || sample.Text(2) != "" || sample.Sub(6) != "" {
		t.Error("a field was read as what it is not")
	}
}

func TestTheLastOccurrenceOfAFieldCounts(t *testing.T) {
	if got := Message("\x08\x01\x08\x02").Int(1); got != 2 {
		t.Errorf("got %d", got)
	}
	if got := Message("\x2a\x06\x0a\x01k\x12\x01a\x2a\x06\x0a\x01k\x12\x01b").Map(5).Get("k"); got != "b" {
		t.Errorf("got %q", got)
	}
}

func TestAMessageInPiecesIsAllOfThem(t *testing.T) {
	pieces := Message("\x1a\x02\x08\x01\x1a\x04\x10\x02\x08\x03").Sub(3)
	if pieces.Int(1) != 3 || pieces.Int(2) != 2 {
		t.Errorf("got %q", pieces)
	}
}

func TestNegativeNumbersAreTenBytes(t *testing.T) {
	if got := Message("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").Int(1); got != -1 {
		t.Errorf("got %d", got)
	}
}

func TestTimeIsZeroWhereThereIsNone(t *testing.T) {
	if got := Message("\x42\x00").Time(8); !got.IsZero() {
		t.Errorf("got %v", got)
	}
	want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := Message("\x42\x06\x08\xa5\xeb\xdc\xca\x06").Time(8); !got.Equal(want) {
		t.Errorf("got %v", got)
	}
}

func TestASectionHoldsAllOccurrencesOfItsField(t *testing.T) {
	if got := sample.section(4); got != "\x22\x01x\x22\x01y" {
		t.Errorf("got %q", got)
	}
	if got := sample.section(9); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestCutOffBytesGiveWhatCameBefore(t *testing.T) {
	for end := range len(sample) {
		cut := sample[:end]
		want := ""
		if end >= 5 {
			want = "abc"
		}
		if got := cut.Text(1); got != want {
			t.Errorf("of %d bytes the text is %q", end, got)
		}
	}
}

var hostile = []string{
	"", "\x00", "\x07", "\x0a", "\x0a\xff", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0a\xff\xff\xff\xff\x0f",
	"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\x31\x01", "\x3d\x01", "\x0b\x0c", "\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01",
	"\x0a\x02\x0a\x7f", "\x12\x04\x12\x7f\x0a\x01", string(sample),
}

func FuzzViewsNeverPanic(f *testing.F) {
	for _, seed := range hostile {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, bytes string) {
		message := Message(bytes)
		for field := range 12 {
			message.Has(field)
			message.Text(field)
			message.Int(field)
			message.Time(field)
			message.Texts(field)
			message.section(field).Map(field)
			message.Quantities(field)
		}
		readAllOfPod(NewPod(message))
		readAllOfNode(NewNode(message))
		for _, pod := range podsOf(message) {
			readAllOfPod(pod)
		}
	})
}

func readAllOfPod(pod *Pod) {
	_, _, _ = pod.Name(), pod.Namespace(), pod.UID()
	_, _, _ = pod.Labels(), pod.Annotations(), pod.NodeSelector()
	_, _, _ = pod.CreationTimestamp(), pod.DeletionTimestamp(), pod.TerminationGracePeriod()
	_, _, _ = pod.OwnerReferences(), pod.Reference(), pod.SchedulingGates()
	_, _, _ = pod.Requests(CPU), pod.Requests(Memory), pod.NonZeroRequests(CPU)
	_, _ = pod.Priority(), pod.Tolerates(Taint{})
	for _, container := range append(pod.Containers(), pod.InitContainers()...) {
		_, _, _, _ = container.Name(), container.Image(), container.Ports(), container.Limits()
	}
}

func readAllOfNode(node *Node) {
	_, _, _, _ = node.Name(), node.UID(), node.Labels(), node.Annotations()
	_, _, _ = node.Unschedulable(), node.ProviderID(), node.Taints()
	_, _, _, _ = node.Conditions(), node.Condition("Ready"), node.Images(), node.Addresses()
	_, _, _ = node.CapacityQuantities(), node.AllocatableQuantities(), node.Reference()
}
