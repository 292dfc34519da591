//! A scheduler plugin that matches shapes: pods with much memory per CPU go to nodes with much memory per CPU, and large nodes
//! are kept for large pods.

use kubewasp_sdk::*;
use serde::Deserialize;

/// The plugin's configuration: guestConfig, as JSON.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Config {
    /// CPUs of a large node; 0: no node is large.
    large_node: i64,
    /// CPUs that a pod must request for a large node.
    large_pod: i64,
    /// Namespaces whose pods may run on any node.
    exempt: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { large_node: 32, large_pod: 4, exempt: vec!["kube-system".into()] }
    }
}

struct ShapeMatch {
    /// In millicores; none is larger than the maximum.
    large_node: i64,
    large_pod: i64,
    exempt: Vec<String>,
    reason: String,
    hint: String,
}

/// Requests of the pod, in millicores and bytes, with defaults for containers without requests.
#[derive(Clone, Default)]
struct Shape {
    cpu: i64,
    memory: i64,
}

impl Shape {
    /// How well the shape of a node fits, from 0 to 100: the smaller memory per CPU in percent of the larger one.
    fn fit(&self, cpu: i64, memory: i64) -> i64 {
        let wide = |a: i64, b: i64| i128::from(a.max(0)) * i128::from(b.max(0));
        let (one, other) = (wide(self.memory, cpu), wide(memory, self.cpu));
        match one.max(other) {
            0 => 0,
            larger => (i128::from(MAX_SCORE) * one.min(other) / larger) as i64,
        }
    }
}

impl Plugin for ShapeMatch {
    type State = Shape;

    fn new() -> Result<Self, Error> {
        let config: Config = config()?;
        for (name, value) in [("largeNode", config.large_node), ("largePod", config.large_pod)] {
            if !(0..=100_000).contains(&value) {
                return Err(Error::new(format!("config: {name} must be from 0 to 100000 CPUs, not {value}")));
            }
        }
        Ok(Self {
            large_node: if config.large_node == 0 { i64::MAX } else { config.large_node * 1000 },
            large_pod: config.large_pod * 1000,
            exempt: config.exempt,
            reason: format!("node(s) were kept for pods of {} or more CPUs", config.large_pod),
            hint: format!("requests of {} CPUs", config.large_pod),
        })
    }
}

impl ShapeMatch {
    fn is_restricted(&self, pod: &Pod) -> bool {
        pod.requests(Resource::CPU) < self.large_pod && !self.exempt.iter().any(|name| name == pod.namespace())
    }
}

impl EnqueueExtensions for ShapeMatch {
    /// A new node, or a node of another size, may help a rejected pod.
    fn events_to_register(&mut self) -> Vec<ClusterEvent> {
        let actions = EventAction::ADD | EventAction::UPDATE_NODE_ALLOCATABLE;
        vec![ClusterEvent { resource: EventResource::Node, actions }]
    }
}

impl QueueingHint for ShapeMatch {
    /// A large node is no help.
    fn queueing_hint(&mut self, _: &Pod, change: &Change) -> Hint {
        let cpu = change.new_node().and_then(|node| node.allocatable_quantities().get("cpu").map(Quantity::milli_value));
        match cpu {
            Some(cpu) if cpu >= self.large_node => Hint::Skip,
            _ => Hint::Queue,
        }
    }
}

impl SignPod for ShapeMatch {
    /// Answers depend on the requests of the pod, and on the size of the node, which is part of its object.
    fn sign_pod(&mut self, pod: &Pod) -> u64 {
        let shape = [pod.non_zero_requests(Resource::CPU), pod.non_zero_requests(Resource::MEMORY)];
        Hasher::new().bool(self.is_restricted(pod)).int(shape[0]).int(shape[1]).sum()
    }
}

impl PreFilter for ShapeMatch {
    /// Skips Filter for large pods.
    fn pre_filter(&mut self, cycle: &mut Cycle<Shape>) -> Result<Candidates, Status> {
        if self.is_restricted(&cycle.pod) {
            Ok(Candidates::All)
        } else {
            Err(Status::skip())
        }
    }
}

impl Filter for ShapeMatch {
    /// Rejects large nodes. PreFilter skips it for all other pods.
    fn filter(&mut self, _: &mut Cycle<Shape>, node: &Node) -> Verdict {
        if node.allocatable(Resource::CPU) < self.large_node {
            return Ok(());
        }
        Err(Status::unresolvable(self.reason.clone()).with_hint(self.hint.clone()))
    }
}

impl PreScore for ShapeMatch {
    fn pre_score(&mut self, cycle: &mut Cycle<Shape>, _: &Nodes) -> Verdict {
        let requests = |resource| cycle.pod.non_zero_requests(resource);
        *cycle.state = Shape { cpu: requests(Resource::CPU), memory: requests(Resource::MEMORY) };
        Ok(())
    }
}

impl Score for ShapeMatch {
    fn score(&mut self, cycle: &mut Cycle<Shape>, node: &Node) -> Result<i64, Status> {
        Ok(cycle.state.fit(node.allocatable(Resource::CPU), node.allocatable(Resource::MEMORY)))
    }
}

register!(ShapeMatch);

#[cfg(test)]
mod tests;
