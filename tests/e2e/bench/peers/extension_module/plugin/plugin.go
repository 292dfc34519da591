// Package wasm makes a plugin that runs no guest: it does in Go what the example guest of that project does.
package wasm

import (
	"context"
	"errors"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const points = 10

type PluginConfig struct {
	GuestURL    string
	GuestConfig string
	LogSeverity int32
	Args        []string
}

func NewFromConfig(
	_ context.Context, pluginName string, config PluginConfig, handle framework.Handle,
) (framework.Plugin, error) {
	if _, err := os.Stat(strings.TrimPrefix(config.GuestURL, "file://")); err != nil {
		return nil, err
	}
	if handle.SnapshotSharedLister() == nil || handle.EventRecorder() == nil {
		return nil, errors.New("the scheduler has no nodes or records no events")
	}
	return &likeness{name: pluginName}, nil
}

type likeness struct {
	name  string
	digit byte
}

func (l *likeness) Name() string { return l.name }

func (l *likeness) PreFilter(
	context.Context, *framework.CycleState, *corev1.Pod,
) (*framework.PreFilterResult, *framework.Status) {
	l.digit = 0
	return nil, nil
}

func (l *likeness) PreFilterExtensions() framework.PreFilterExtensions { return nil }

func (l *likeness) PreScore(
	_ context.Context, _ *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo,
) *framework.Status {
	l.digit = lastDigit(pod.Spec.NodeName)
	return nil
}

func (l *likeness) Score(
	_ context.Context, _ *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo,
) (int64, *framework.Status) {
	if l.digit == 0 || l.digit == lastDigit(node.GetName()) {
		return points, nil
	}
	return 0, nil
}

func (l *likeness) ScoreExtensions() framework.ScoreExtensions { return nil }

func lastDigit(name string) byte {
	if name == "" || name[len(name)-1] < '0' || name[len(name)-1] > '9' {
		return 0
	}
	return name[len(name)-1]
}
