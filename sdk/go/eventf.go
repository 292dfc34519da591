package kubewasp

// In a file of its own: fmt makes a guest larger, and is linked only into guests that call Eventf.

import "fmt"

// Eventf records an event about an object, with a note formatted by fmt.Sprintf.
func (h *Handle) Eventf(regarding ObjectReference, eventType, reason, action, note string, args ...any) {
	h.Record(Event{Regarding: regarding, Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)})
}
