package kubewasp

import (
	"strconv"
	"strings"
)

// Logger writes lines to the scheduler's log, with the plugin's name, or to a LogSink.
type Logger struct {
	guest    *guest
	sink     LogSink
	severity int // lowest logged severity; -1: unknown
}

// Severity is the importance of a log line.
type Severity int

// Severities of log lines.
const (
	SeverityInfo Severity = iota
	SeverityWarning
	SeverityError
)

// LogSink receives the lines of a Logger in place of the scheduler's log, e.g. to add fields or to collect lines in tests.
type LogSink interface {
	Log(severity Severity, message string, keysAndValues ...any)
}

// NewLogger returns a logger that writes to a sink; it needs no scheduler.
func NewLogger(sink LogSink) *Logger { return &Logger{sink: sink} }

// Replace makes the logger write to a sink; nil for the scheduler's log.
func (l *Logger) Replace(sink LogSink) { l.sink = sink }

// Info logs a message with alternating keys and values. A value is a string, number, boolean, error, or has a String
// method; format other values yourself.
func (l *Logger) Info(message string, keysAndValues ...any) {
	l.write(SeverityInfo, message, keysAndValues)
}

// Warning logs like Info, with severity warning.
func (l *Logger) Warning(message string, keysAndValues ...any) {
	l.write(SeverityWarning, message, keysAndValues)
}

// Error logs like Info, with severity error.
func (l *Logger) Error(message string, keysAndValues ...any) {
	l.write(SeverityError, message, keysAndValues)
}

// Enabled reports whether Info lines are logged, for lines that are costly to build.
func (l *Logger) Enabled() bool { return l.logs(SeverityInfo) }

func (l *Logger) logs(severity Severity) bool {
	if l.guest == nil {
		return l.sink != nil
	}
	if l.severity < 0 {
		l.severity = l.guest.host.LogSeverity()
	}
	return int(severity) >= l.severity
}

func (l *Logger) write(severity Severity, message string, keysAndValues []any) {
	if !l.logs(severity) {
		return
	}
	if l.sink != nil {
		l.sink.Log(severity, message, keysAndValues...)
		return
	}
	if len(keysAndValues) == 0 {
		l.guest.host.Log(int(severity), message)
		return
	}
	var pairs []byte
	for _, value := range keysAndValues {
		pairs = append(pairs, strings.ReplaceAll(shown(value), "\x00", "�")...) // the terminator of a text
		pairs = append(pairs, 0)
	}
	l.guest.host.LogPairs(int(severity), message, pairs)
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
	case Object: // pods, nodes, resources
		return referred(value)
	}
	return "(a value that cannot be logged as it is)"
}
