package kubewasp

// Code says how a hook ended. The numbers are those of the Kubernetes scheduling framework.
type Code int32

// The codes a hook may answer with.
const (
	CodeSuccess Code = iota
	CodeError
	CodeUnschedulable
	CodeUnschedulableAndUnresolvable
	CodeWait
	CodeSkip
)

// String is the name of the code.
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

// Status is the answer of a hook: a code and, unless it is Success, the reason that people will read. It is a plain
// value, so answering costs no memory. The zero value is Success.
type Status struct {
	Code   Code
	Reason string
}

// Success lets the pod, or the node, pass.
func Success() Status { return Status{} }

// Unschedulable turns the node (or the pod) down; preempting other pods may help.
func Unschedulable(reason string) Status { return Status{CodeUnschedulable, reason} }

// Unresolvable turns the node (or the pod) down, and preempting other pods would not help.
func Unresolvable(reason string) Status { return Status{CodeUnschedulableAndUnresolvable, reason} }

// Failed says that something went wrong; the pod is tried again later.
func Failed(reason string) Status { return Status{CodeError, reason} }

// FailedWith says what went wrong; Success if the error is nil.
func FailedWith(err error) Status {
	if err == nil {
		return Success()
	}
	return Failed(err.Error())
}

// Wait holds the pod back; only Permit may say so.
func Wait(reason string) Status { return Status{CodeWait, reason} }

// Skip says that this plugin has nothing to do with the pod: in PreFilter its Filter, in PreScore its Score is then not
// called, in Bind another plugin binds.
func Skip() Status { return Status{Code: CodeSkip} }

// IsSuccess says whether the code is Success.
func (s Status) IsSuccess() bool { return s.Code == CodeSuccess }

// IsRejected says whether the pod or node was turned down, as opposed to: something went wrong.
func (s Status) IsRejected() bool {
	return s.Code == CodeUnschedulable || s.Code == CodeUnschedulableAndUnresolvable
}

// String is the code and the reason.
func (s Status) String() string {
	if s.Reason == "" {
		return s.Code.String()
	}
	return s.Code.String() + ": " + s.Reason
}
