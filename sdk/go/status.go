package kubewasp

// Code is a status code of the Kubernetes scheduling framework.
type Code int32

// Status codes of hooks.
const (
	CodeSuccess Code = iota
	CodeError
	CodeUnschedulable
	CodeUnschedulableAndUnresolvable
	CodeWait
	CodeSkip
)

// String returns the name of the code.
func (c Code) String() string {
	switch c {
	case CodeSuccess:
		return "Success"
	case CodeUnschedulable:
		return "Unschedulable"
	case CodeUnschedulableAndUnresolvable:
		return "UnschedulableAndUnresolvable"
	case CodeWait:
		return "Wait"
	case CodeSkip:
		return "Skip"
	}
	return "Error"
}

// Status is the result of a hook: a code and, unless it is Success, a human-readable reason. It is a plain value, without
// allocation unless it has a hint. The zero value is Success.
type Status struct {
	Code   Code
	Reason string
	hint   *string // a pointer: Go keeps a struct of up to 32 bytes in registers, a larger one costs 400 instructions per node
}

// Success accepts the pod or node.
func Success() Status { return Status{} }

// Unschedulable rejects the node or pod; preemption may help.
func Unschedulable(reason string) Status { return Status{Code: CodeUnschedulable, Reason: reason} }

// Unresolvable rejects the node or pod; preemption cannot help.
func Unresolvable(reason string) Status {
	return Status{Code: CodeUnschedulableAndUnresolvable, Reason: reason}
}

// Failed reports an error; the pod is tried again later.
func Failed(reason string) Status { return Status{Code: CodeError, Reason: reason} }

// FailedWith reports an error; Success if it is nil.
func FailedWith(err error) Status {
	if err == nil {
		return Success()
	}
	return Failed(err.Error())
}

// Wait delays the binding of the pod; for Permit only.
func Wait(reason string) Status { return Status{Code: CodeWait, Reason: reason} }

// Skip skips the plugin for the pod: its Filter after PreFilter, its Score after PreScore, its Bind in favour of the next
// bind plugin.
func Skip() Status { return Status{Code: CodeSkip} }

// WithHint returns the status with a hint: what the pod or node would need, such as "label disk=ssd". kubewasp explain
// shows it. A hint is up to 1024 bytes; the rest is cut.
func (s Status) WithHint(hint string) Status {
	s.hint = &hint
	return s
}

// Hint returns the hint; empty without one.
func (s Status) Hint() string {
	if s.hint == nil {
		return ""
	}
	return *s.hint
}

// IsSuccess reports whether the code is Success.
func (s Status) IsSuccess() bool { return s.Code == CodeSuccess }

// IsRejected reports whether the status is a rejection, as opposed to an error.
func (s Status) IsRejected() bool {
	return s.Code == CodeUnschedulable || s.Code == CodeUnschedulableAndUnresolvable
}

// String returns the code and the reason.
func (s Status) String() string {
	if s.Reason == "" {
		return s.Code.String()
	}
	return s.Code.String() + ": " + s.Reason
}
