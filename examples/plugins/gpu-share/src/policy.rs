//! Policies: how good a node is for a pod, and which of its GPUs the pod gets.

use serde::Deserialize;

use crate::fragments::Possible;
use crate::gpus::{Gpus, Request, WHOLE};

/// CPU and GPUs of the largest nodes: amounts are compared in shares of these.
const LARGEST_CPU: f64 = 128_000.0;
const LARGEST_GPU: i64 = 8 * WHOLE;
const BEST: i64 = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// Fragmentation gradient descent: the node whose fragments grow least.
    Fgd,
    /// The node with the least CPU and GPUs left.
    #[default]
    BestFit,
    /// The node whose free resources are least like the pod's requests.
    DotProduct,
    /// GPUs in use first, then free GPUs of nodes in use, then free nodes.
    GpuPacking,
    /// Nodes with pods that ask for as many GPUs.
    GpuClustering,
    /// Any node, any GPU.
    Random,
}

/// What a policy knows of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeState {
    /// Free millicores.
    pub cpu: i64,
    pub gpus: Gpus,
    /// Kinds of pods on the node that have GPUs, without repetition.
    pub kinds: Vec<Request>,
    /// Fragment of the node as it is, for FGD.
    pub fragment: f64,
    /// Scores by shape of the pod, until the node changes.
    pub scores: Vec<Option<i64>>,
}

impl NodeState {
    /// The state with the fragment of the node for a workload.
    pub fn measured(self, possible: &Possible) -> Self {
        Self { fragment: possible.fragment(self.cpu, &self.gpus), ..self }
    }
}

/// What a policy knows of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Requested millicores.
    pub cpu: i64,
    pub gpu: Request,
}

impl Policy {
    /// Score of a node that fits, from 0 to 100. Random nodes are chosen elsewhere.
    pub fn score(self, ask: Ask, node: &NodeState, possible: &Possible) -> i64 {
        match self {
            Self::Fgd => fgd(ask, node, possible).0,
            Self::BestFit => best_fit(ask, node),
            Self::DotProduct => dot_product(ask, node),
            Self::GpuPacking => packing(ask, node),
            Self::GpuClustering => clustering(ask, node),
            Self::Random => 0,
        }
    }

    /// The GPUs that the pod gets; none if it does not fit.
    pub fn gpus(
        self,
        ask: Ask,
        node: &NodeState,
        possible: &Possible,
        random: &mut impl FnMut() -> u64,
    ) -> Option<Vec<usize>> {
        match self {
            Self::Fgd if ask.gpu.is_part() => fgd(ask, node, possible).1.map(|gpu| vec![gpu]),
            Self::Random if ask.gpu.is_part() => {
                let fitting: Vec<usize> =
                    (0..node.gpus.0.len()).filter(|&gpu| node.gpus.0[gpu] >= ask.gpu.milli).collect();
                (!fitting.is_empty()).then(|| vec![fitting[(random() % fitting.len() as u64) as usize]])
            }
            _ => node.gpus.tightest(ask.gpu),
        }
    }
}

/// The best score of all GPUs with room for part of one, and that GPU, the first of several; of whole GPUs, the first idle ones.
fn fgd(ask: Ask, node: &NodeState, possible: &Possible) -> (i64, Option<usize>) {
    let cpu = node.cpu - ask.cpu;
    let score = |gpus: &Gpus| {
        let less = (node.fragment - possible.fragment(cpu, gpus)) / WHOLE as f64;
        (BEST as f64 / (1.0 + (-less).exp())) as i64
    };
    if !ask.gpu.is_part() {
        let mut gpus = node.gpus.clone();
        gpus.take(&node.gpus.tightest(ask.gpu).unwrap_or_default(), ask.gpu.milli);
        return (score(&gpus), None);
    }
    let mut best = (0, None);
    let mut gpus = node.gpus.clone();
    for gpu in 0..gpus.0.len() {
        let left = gpus.0[gpu];
        if left < ask.gpu.milli || gpus.0[..gpu].contains(&left) {
            continue; // an equal GPU before it has the same score
        }
        gpus.0[gpu] -= ask.gpu.milli;
        let found = score(&gpus);
        gpus.0[gpu] = left;
        if best.1.is_none() || found > best.0 {
            best = (found, Some(gpu));
        }
    }
    best
}

fn best_fit(ask: Ask, node: &NodeState) -> i64 {
    let cpu = (node.cpu - ask.cpu) as f64 / LARGEST_CPU;
    let gpu = (node.gpus.left() - ask.gpu.total()) as f64 / LARGEST_GPU as f64;
    ((1.0 - (cpu * 0.5 + gpu * 0.5)) * BEST as f64) as i64
}

fn dot_product(ask: Ask, node: &NodeState) -> i64 {
    let cpu = node.cpu as f64 / LARGEST_CPU * (ask.cpu as f64 / LARGEST_CPU);
    let gpu = node.gpus.left() as f64 / LARGEST_GPU as f64 * (ask.gpu.total() as f64 / LARGEST_GPU as f64);
    ((1.0 - (cpu + gpu) / 2.0) * BEST as f64) as i64
}

fn packing(ask: Ask, node: &NodeState) -> i64 {
    if ask.gpu.count == 0 {
        return 0;
    }
    let idle = node.gpus.with_room(WHOLE) as i64;
    if idle == node.gpus.0.len() as i64 {
        return (BEST / 3 - idle).max(idle);
    }
    let used = node.gpus.tightest(ask.gpu).unwrap_or_default();
    let free = used.iter().filter(|&&gpu| node.gpus.0[gpu] == WHOLE).count() as i64;
    if free > 0 {
        return (BEST / 2 - free).max(BEST / 3);
    }
    let percents: i64 = used.iter().map(|&gpu| node.gpus.0[gpu] * 100 / WHOLE).sum();
    (BEST - percents / 10).max(BEST / 2)
}

fn clustering(ask: Ask, node: &NodeState) -> i64 {
    if ask.gpu.count == 0 {
        return 0;
    }
    let kind = kind(ask.gpu);
    let quarter = match (node.kinds.contains(&kind), node.kinds.len()) {
        (true, 1) => 3,
        (true, _) => 2,
        (false, 0) => 1,
        (false, _) => 0,
    };
    BEST / 4 * (LARGEST_GPU - node.gpus.left()) / LARGEST_GPU + BEST * quarter / 4
}

/// Requests of one kind: parts of GPUs are one.
pub fn kind(request: Request) -> Request {
    if request.is_part() {
        Request { count: 1, milli: 0 }
    } else {
        request
    }
}
