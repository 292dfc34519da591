package kubewasp

import "unicode/utf8"

// Event types.
const (
	EventTypeNormal  = "Normal"
	EventTypeWarning = "Warning"
)

// Event is a Kubernetes event, shown by `kubectl describe` for the object it regards.
type Event struct {
	Regarding ObjectReference // pod.Reference() or node.Reference()
	Related   ObjectReference // a related object, if any
	Type      string          // EventTypeNormal (also if empty) or EventTypeWarning
	Reason    string          // machine-readable, e.g. "QuotaReached"
	Action    string          // e.g. "Scheduling"
	Note      string          // human-readable
}

// Record records an event. Eventf is a shorter form with a formatted note.
func (h *Handle) Record(event Event) {
	if event.Type == "" {
		event.Type = EventTypeNormal
	}
	json := appendReference([]byte(`{"RegardingReference":`), event.Regarding)
	json = appendReference(append(json, `,"RelatedReference":`...), event.Related)
	json = appendText(append(json, `,"Eventtype":`...), event.Type)
	json = appendText(append(json, `,"Reason":`...), event.Reason)
	json = appendText(append(json, `,"Action":`...), event.Action)
	json = appendText(append(json, `,"Note":`...), event.Note)
	h.guest.host.RecordEvent(append(json, '}'))
}

func appendReference(json []byte, reference ObjectReference) []byte {
	json = appendText(append(json, `{"Kind":`...), reference.Kind)
	json = appendText(append(json, `,"APIVersion":`...), reference.APIVersion)
	json = appendText(append(json, `,"Name":`...), reference.Name)
	json = appendText(append(json, `,"Namespace":`...), reference.Namespace)
	json = appendText(append(json, `,"UID":`...), reference.UID)
	json = appendText(append(json, `,"ResourceVersion":`...), reference.ResourceVersion)
	return append(json, '}')
}

// appendText appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendText(json []byte, text string) []byte {
	const hex = "0123456789abcdef"
	json = append(json, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			json = append(json, '\\', byte(c))
		case c < 0x20:
			json = append(json, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			json = utf8.AppendRune(json, c)
		}
	}
	return append(json, '"')
}
