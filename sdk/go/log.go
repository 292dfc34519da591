package kubewasp

import (
	"strconv"
	"strings"
)

// Logger writes lines to the scheduler's log, with the plugin's name.
type Logger struct {
	guest    *guest
	severity int // lowest logged severity; -1: unknown
}

const (
	severityInfo = iota
	severityWarning
	severityError
)

// Info logs a message with alternating keys and values. A value is a string, number, boolean, error, or has a String
// method; format other values yourself.
func (l *Logger) Info(message string, keysAndValues ...any) {
	l.write(severityInfo, message, keysAndValues)
}

// Warning logs like Info, with severity warning.
func (l *Logger) Warning(message string, keysAndValues ...any) {
	l.write(severityWarning, message, keysAndValues)
}

// Error logs like Info, with severity error.
func (l *Logger) Error(message string, keysAndValues ...any) {
	l.write(severityError, message, keysAndValues)
}

// Enabled reports whether Info lines are logged, for lines that are costly to build.
func (l *Logger) Enabled() bool { return l.logs(severityInfo) }

func (l *Logger) logs(severity int) bool {
	if l.severity < 0 {
		l.severity = l.guest.host.LogSeverity()
	}
	return severity >= l.severity
}

func (l *Logger) write(severity int, message string, keysAndValues []any) {
	if !l.logs(severity) {
		return
	}
	if len(keysAndValues) == 0 {
		l.guest.host.Log(severity, message)
		return
	}
	var pairs []byte
	for _, value := range keysAndValues {
		pairs = append(pairs, strings.ReplaceAll(shown(value), "\x00", "�")...) // the terminator of a text
		pairs = append(pairs, 0)
	}
	l.guest.host.LogPairs(severity, message, pairs)
}

// shown returns a value as text. Package fmt would make every guest larger.
func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return "<nil>"
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case int:
		return strconv.Itoa(value)
	case int32:
		return strconv.FormatInt(int64(value), 10)
	case int64:
		return strconv.FormatInt(value, 10)
	case uint32:
		return strconv.FormatUint(uint64(value), 10)
	case uint64:
		return strconv.FormatUint(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	case Quantity:
		return string(value)
	case error:
		return value.Error()
	case interface{ String() string }:
		return value.String()
	case *Pod:
		return value.Namespace() + "/" + value.Name()
	case interface{ Name() string }: // nodes, resources
		return value.Name()
	}
	return "(a value that cannot be logged as it is)"
}
