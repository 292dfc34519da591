package kubewasp

// In a file of its own, as fmt makes a guest larger: one that does not call Eventf has none of it.

import "fmt"

// Eventf records an event about an object; the note is formatted as by fmt.Sprintf.
func (h *Handle) Eventf(regarding ObjectReference, eventType, reason, action, note string, args ...any) {
	h.Record(Event{Regarding: regarding, Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)})
}
