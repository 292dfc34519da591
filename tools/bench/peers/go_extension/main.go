// This program runs a guest with the plugin of kube-scheduler-wasm-extension, through that module's public interface,
// and prints what its scheduling cycles cost. The plugin is called as the scheduling framework calls it: one pod at a
// time, and one call for each node and extension point.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"kubewasp.dev/bench/report"
	wasm "sigs.k8s.io/kube-scheduler-wasm-extension/scheduler/plugin"
)

// Its example guest logs every call unless only fatal messages are wanted.
const severity = 3

func main() {
	report.Main(newPeer)
}

func newPeer(nodes []*corev1.Node, pods []*corev1.Pod) report.Peer {
	peer := &peer{pods: pods, scheduler: &scheduler{snapshot: cache.NewSnapshot(nil, nodes)}}
	for _, node := range nodes {
		info, err := peer.scheduler.snapshot.NodeInfos().Get(node.Name)
		if err != nil {
			panic(err) // it was made of these nodes
		}
		peer.nodes = append(peer.nodes, info)
	}
	return peer
}

// scheduler is what a plugin may ask of the scheduler it runs in: the nodes, and to record events, which go nowhere.
type scheduler struct {
	framework.Handle
	snapshot *cache.Snapshot
}

func (s *scheduler) SnapshotSharedLister() framework.SharedLister { return s.snapshot }

func (s *scheduler) EventRecorder() events.EventRecorder { return recorder{} }

type recorder struct{}

func (recorder) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

type peer struct {
	nodes     []*framework.NodeInfo
	pods      []*corev1.Pod
	scheduler *scheduler

	preFilter framework.PreFilterPlugin
	filter    framework.FilterPlugin
	preScore  framework.PreScorePlugin
	score     framework.ScorePlugin

	codes  []int64
	scores framework.NodeScoreList
}

func (p *peer) Load(guest string) error {
	path, err := filepath.Abs(guest)
	if err != nil {
		return err
	}
	config := wasm.PluginConfig{GuestURL: "file://" + path, LogSeverity: severity}
	plugin, err := wasm.NewFromConfig(context.Background(), "nodenumber", config, p.scheduler)
	if err != nil {
		return err
	}
	p.preFilter, _ = plugin.(framework.PreFilterPlugin)
	p.filter, _ = plugin.(framework.FilterPlugin)
	p.preScore, _ = plugin.(framework.PreScorePlugin)
	p.score, _ = plugin.(framework.ScorePlugin)
	if p.score == nil {
		return errors.New("the guest does not score")
	}
	return nil
}

// GuestMemory is not told by the plugin.
func (p *peer) GuestMemory() uint64 { return 0 }

func (p *peer) Cycle(number int) (*report.Answers, error) {
	ctx, state, pod := context.Background(), framework.NewCycleState(), p.pods[number]
	p.codes, p.scores = p.codes[:0], p.scores[:0]
	feasible := p.nodes
	skipFilter := false
	if p.preFilter != nil {
		picked, status := p.preFilter.PreFilter(ctx, state, pod)
		if !status.IsSuccess() && !status.IsSkip() {
			return nil, failed("PreFilter", status)
		}
		if !picked.AllNodes() {
			return nil, errors.New("a guest that picks nodes in PreFilter is not measured here")
		}
		skipFilter = status.IsSkip()
	}
	if p.filter != nil && !skipFilter {
		feasible = make([]*framework.NodeInfo, 0, len(p.nodes))
		for _, node := range p.nodes {
			status := p.filter.Filter(ctx, state, pod, node)
			p.codes = append(p.codes, int64(status.Code()))
			if status.IsSuccess() {
				feasible = append(feasible, node)
			}
		}
	}
	if p.preScore != nil && len(feasible) > 0 {
		status := p.preScore.PreScore(ctx, state, pod, feasible)
		if status.IsSkip() {
			return p.answers(), nil
		}
		if !status.IsSuccess() {
			return nil, failed("PreScore", status)
		}
	}
	for _, node := range feasible {
		score, status := p.score.Score(ctx, state, pod, node)
		if !status.IsSuccess() {
			return nil, failed("Score", status)
		}
		p.scores = append(p.scores, framework.NodeScore{Name: node.Node().Name, Score: score})
	}
	if extensions := p.score.ScoreExtensions(); extensions != nil {
		if status := extensions.NormalizeScore(ctx, state, pod, p.scores); !status.IsSuccess() {
			return nil, failed("NormalizeScore", status)
		}
	}
	return p.answers(), nil
}

func (p *peer) answers() *report.Answers {
	scores := make([]int64, len(p.scores))
	for i, score := range p.scores {
		scores[i] = score.Score
	}
	return &report.Answers{Codes: p.codes, Scores: scores}
}

func failed(point string, status *framework.Status) error {
	return fmt.Errorf("%s: %s: %s", point, status.Code(), status.Message())
}
