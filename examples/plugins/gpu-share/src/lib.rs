//! A scheduler plugin that shares GPUs: a pod asks for thousandths of a GPU, or for whole ones, and gets GPUs of its node, written
//! to an annotation with the binding. Six policies choose node and GPUs.

mod fragments;
mod gpus;
mod policy;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use kubewasp_sdk::*;
use serde::Deserialize;

use fragments::{Possible, TypicalPod, Workload};
use gpus::{Gpus, Request, WHOLE};
use policy::{kind, Ask, NodeState, Policy};

/// The plugin's configuration: guestConfig, as JSON.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Config {
    policy: Policy,
    /// Of nodes with the same score, the one with the first name is the best: repeatable in any order of the nodes.
    ties_by_name: bool,
    /// Resource of nodes and pods: thousandths of GPUs.
    resource: String,
    /// Annotation of a pod: numbers of its GPUs.
    annotation: String,
    /// Label of nodes: model of their GPUs.
    model_label: String,
    /// The workload that fragments are measured by.
    typical: Vec<TypicalPod>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            ties_by_name: false,
            resource: "kubewasp.dev/gpu-milli".into(),
            annotation: "kubewasp.dev/gpus".into(),
            model_label: "nvidia.com/gpu.product".into(),
            typical: Vec::new(),
        }
    }
}

struct GpuShare {
    config: Config,
    resource: Resource,
    workload: Workload,
    /// The workload by model of GPUs.
    models: HashMap<String, Possible>,
    nodes: NodeCache<NodeState>,
    /// Shapes of pods, by their number in `NodeState::scores`.
    shapes: HashMap<(i64, i64), usize>,
    random: u64,
}

/// Shapes of pods whose scores are kept.
const MOST_SHAPES: usize = 4096;

/// Values of one pod between hooks.
#[derive(Clone, Copy, Default)]
struct State {
    ask: Ask,
    shape: usize,
    /// Row of the node that is the best, if that is decided for all nodes at once.
    chosen: Option<usize>,
}

impl Plugin for GpuShare {
    type State = State;

    fn new() -> Result<Self, Error> {
        let mut config: Config = config()?;
        let typical = std::mem::take(&mut config.typical);
        let workload = Workload::of(typical, &config.resource, &config.model_label)
            .map_err(|text| Error::new(format!("config: {text}")))?;
        if config.policy == Policy::Fgd && workload.is_empty() {
            return Err(Error::new("config: policy fgd requires typical, the shapes of pods in the workload"));
        }
        let resource = Resource::named(config.resource.clone());
        Ok(Self {
            config,
            resource,
            workload,
            models: HashMap::new(),
            nodes: NodeCache::with_pods(),
            shapes: HashMap::new(),
            random: RandomState::new().hash_one(0),
        })
    }
}

impl GpuShare {
    fn ask(&self, pod: &Pod) -> Option<Ask> {
        Some(Ask { cpu: pod.requests(Resource::CPU), gpu: Request::of(pod.requests(self.resource))? })
    }

    /// Number of the shape of a pod. The oldest scores are forgotten with the shapes, when there are too many.
    fn shape(&mut self, ask: Ask) -> usize {
        if self.shapes.len() >= MOST_SHAPES {
            self.shapes.clear();
            self.nodes = NodeCache::with_pods();
        }
        let next = self.shapes.len();
        *self.shapes.entry((ask.cpu, ask.gpu.total())).or_insert(next)
    }

    /// The model of the GPUs of a node, which `models` knows then.
    fn model<'a>(&mut self, node: &Node<'a>) -> &'a str {
        let model = node.labels().get(&self.config.model_label).unwrap_or_default();
        if !self.models.contains_key(model) {
            self.models.insert(model.into(), self.workload.on(model));
        }
        model
    }

    /// The node as it is, and the workload that its GPUs suit.
    fn node(&mut self, node: &Node) -> (&mut NodeState, &Possible) {
        let model = self.model(node);
        let possible = &self.models[model];
        let (resource, annotation) = (self.resource, &self.config.annotation);
        let state = self.nodes.get(node, |node| read(node, resource, annotation, "").measured(possible));
        (state, possible)
    }

    /// The score of a node, kept until the node changes.
    fn rate(&mut self, State { ask, shape, .. }: State, node: &Node) -> i64 {
        let policy = self.config.policy;
        let (state, possible) = self.node(node);
        if let Some(Some(score)) = state.scores.get(shape) {
            return *score;
        }
        let score = policy.score(ask, state, possible).clamp(0, MAX_SCORE);
        if state.scores.len() <= shape {
            state.scores.resize(shape + 1, None);
        }
        state.scores[shape] = Some(score);
        score
    }

    /// Row of the node with the first name of those with the best score.
    fn first_of_the_best(&mut self, state: State, nodes: &Nodes) -> Option<usize> {
        let mut best: Option<(i64, Node)> = None;
        for node in nodes.iter() {
            let score = self.rate(state, &node);
            if best.is_none_or(|(top, first)| score > top || (score == top && node.name() < first.name())) {
                best = Some((score, node));
            }
        }
        best.map(|(_, node)| node.row())
    }

    /// splitmix64
    fn next_random(random: &mut u64) -> u64 {
        *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Reads the GPUs of a node from the annotations of its pods, but one. Pods without a valid one are put where they fit tightest.
fn read(node: &Node, resource: Resource, annotation: &str, except: &str) -> NodeState {
    let count = usize::try_from(node.allocatable(resource) / WHOLE).unwrap_or(0);
    let (mut gpus, mut kinds, mut elsewhere) = (Gpus::idle(count), Vec::new(), Vec::new());
    if count > 0 {
        for pod in node.pods().iter().filter(|pod| except.is_empty() || pod.uid() != except) {
            let Some(request) = Request::of(pod.requests(resource)).filter(|request| request.count > 0) else {
                continue;
            };
            if !kinds.contains(&kind(request)) {
                kinds.push(kind(request));
            }
            match pod.annotations().get(annotation).and_then(gpus::parsed) {
                Some(chosen) if chosen.len() == request.count => gpus.take(&chosen, request.milli),
                _ => elsewhere.push(request),
            }
        }
    }
    for request in elsewhere {
        let chosen = gpus.tightest(request).unwrap_or_default();
        gpus.take(&chosen, request.milli);
    }
    NodeState { cpu: node.free(Resource::CPU), gpus, kinds, ..NodeState::default() }
}

impl EnqueueExtensions for GpuShare {
    /// A new node, more GPUs, or a pod that ends.
    fn events_to_register(&mut self) -> Vec<ClusterEvent> {
        let node = EventAction::ADD | EventAction::UPDATE_NODE_ALLOCATABLE;
        vec![
            ClusterEvent { resource: EventResource::Node, actions: node },
            ClusterEvent { resource: EventResource::Pod, actions: EventAction::DELETE },
        ]
    }
}

impl PreFilter for GpuShare {
    /// Skips Filter for pods without GPUs.
    fn pre_filter(&mut self, cycle: &mut Cycle<State>) -> Result<Candidates, Status> {
        let Some(ask) = self.ask(&cycle.pod) else {
            let (milli, name) = (cycle.pod.requests(self.resource), &self.config.resource);
            return Err(Status::unresolvable(format!("{milli} of {name}: more than one GPU must be whole ones")));
        };
        *cycle.state = State { ask, shape: self.shape(ask), chosen: None };
        if ask.gpu.count == 0 {
            return Err(Status::skip());
        }
        Ok(Candidates::All)
    }
}

impl Filter for GpuShare {
    fn filter(&mut self, cycle: &mut Cycle<State>, node: &Node) -> Verdict {
        let gpu = cycle.state.ask.gpu;
        if self.node(node).0.gpus.fits(gpu) {
            return Ok(());
        }
        Err(Status::unschedulable(if gpu.is_part() { "no GPU has room for the pod" } else { "too few idle GPUs" }))
    }
}

impl PreScore for GpuShare {
    /// Decides about all nodes, where a node alone does not tell its score.
    fn pre_score(&mut self, cycle: &mut Cycle<State>, nodes: &Nodes) -> Verdict {
        cycle.state.chosen = if self.config.policy == Policy::Random {
            let at = Self::next_random(&mut self.random) % nodes.len().max(1) as u64;
            nodes.iter().nth(at as usize).map(|node| node.row())
        } else if self.config.ties_by_name {
            self.first_of_the_best(*cycle.state, nodes)
        } else {
            None
        };
        Ok(())
    }
}

impl Score for GpuShare {
    fn score(&mut self, cycle: &mut Cycle<State>, node: &Node) -> Result<i64, Status> {
        let is_best = cycle.state.chosen.map(|row| row == node.row());
        if self.config.policy == Policy::Random {
            return Ok(if is_best == Some(true) { MAX_SCORE } else { 0 });
        }
        let score = self.rate(*cycle.state, node);
        Ok(match is_best {
            None => score,
            Some(true) => score.max(1),
            Some(false) => (score - 1).max(0),
        })
    }
}

impl Reserve for GpuShare {
    /// The choice of GPUs goes with the binding; the next pod sees it.
    fn reserve(&mut self, cycle: &mut Cycle<State>, node: &Node) -> Verdict {
        let ask = cycle.state.ask;
        if ask.gpu.count == 0 {
            return Ok(());
        }
        let model = self.model(node);
        let possible = &self.models[model];
        // In Reserve the pod is on the node already, without its GPUs.
        let mut state = read(node, self.resource, &self.config.annotation, cycle.pod.uid());
        state.cpu += ask.cpu;
        let state = state.measured(possible);
        let mut random = self.random;
        let chosen = self.config.policy.gpus(ask, &state, possible, &mut || Self::next_random(&mut random));
        self.random = random;
        match chosen {
            Some(gpus) => annotate(&self.config.annotation, &gpus::shown(&gpus)),
            None => return Err(Status::unschedulable("the GPUs were taken meanwhile")),
        }
        Ok(())
    }
}

register!(GpuShare);

#[cfg(test)]
mod tests;
