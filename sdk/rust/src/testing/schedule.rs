//! Whole scheduling cycles, with one plugin alone.

use core::time::Duration;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::cycle::Cycle;
use super::objects::Pod;
use super::plugin::{Plugin, Registered};
use crate::{Candidates, Nomination, Permission, Status, Timestamp};

/// The scheduling result of a pod.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The node of the pod, or the node it waits for; empty for a rejected pod.
    pub node: String,
    /// The timeout of a pod that waits at Permit.
    pub waiting: Option<Duration>,
    /// Why the pod has no node.
    pub status: Option<Status>,
    /// Nodes rejected by Filter.
    pub rejected: BTreeMap<String, Status>,
    /// Final scores of the feasible nodes; empty if the plugin does not score.
    pub scores: BTreeMap<String, i64>,
    /// The node that PostFilter nominated.
    pub nominated: Option<String>,
    /// Annotations of the binding.
    pub annotations: Vec<(String, String)>,
}

/// A pod that waits at Permit.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) pod: Pod,
    until: Timestamp,
    timeout: Duration,
    /// Decision of a hook, effective when the hook has returned.
    decision: Option<Result<(), String>>,
}

/// Records the decision about a waiting pod; the first one counts.
pub(crate) fn decide(waiting: &mut [Waiting], uid: &str, decision: Result<(), String>) -> bool {
    let found = waiting.iter_mut().find(|waiting| waiting.pod.identity() == uid);
    found.map(|waiting| waiting.decision.get_or_insert(decision)).is_some()
}

impl<P: Registered> Plugin<P> {
    /// Runs a whole scheduling cycle of a pod, with this plugin alone. It selects the first of the nodes with the best score.
    /// The pod is then on its node in the cluster, also while it waits at Permit, to keep its place. [`Plugin::outcome`] has
    /// its result after the wait.
    pub fn schedule(&self, pod: Pod) -> Outcome {
        let name = pod.name.clone();
        let outcome = self.run(pod);
        self.outcomes.borrow_mut().insert(name.clone(), outcome);
        self.settle();
        self.outcome(&name)
    }

    /// The latest result of a pod.
    ///
    /// # Panics
    /// If no pod with this name was scheduled.
    pub fn outcome(&self, pod: &str) -> Outcome {
        let outcomes = self.outcomes.borrow();
        outcomes.get(pod).unwrap_or_else(|| panic!("no pod {pod:?} was scheduled")).clone()
    }

    /// Names of the pods that wait at Permit. Pods past their timeout, by the cluster's clock, are rejected first.
    pub fn waiting(&self) -> Vec<String> {
        let now = self.cluster().now();
        for waiting in &mut self.world.borrow_mut().waiting {
            if waiting.decision.is_none() && now >= waiting.until {
                waiting.decision = Some(Err(format!("rejected due to timeout after waiting {:?}", waiting.timeout)));
            }
        }
        self.settle();
        self.world.borrow().waiting.iter().map(|waiting| waiting.pod.name.clone()).collect()
    }

    fn run(&self, pod: Pod) -> Outcome {
        let mut cycle = self.acquire();
        let mut outcome = Outcome::default();
        let (candidates, skipped) = match cycle.begin(pod) {
            Ok(candidates) => (candidates, false),
            Err(status) if status == Status::skip() => (Candidates::All, true),
            Err(status) => return failed(outcome, status),
        };
        let mut feasible = Vec::new();
        let names = self.cluster().node_names();
        for name in names {
            let verdict = match &candidates {
                Candidates::Only(names) if !names.contains(&name) => {
                    Err(Status::unresolvable("node is no candidate of PreFilter"))
                }
                _ if cycle.has("filter") && !skipped => cycle.filter(&name),
                _ => Ok(()),
            };
            match verdict {
                Ok(()) => feasible.push(name),
                Err(status) => {
                    outcome.rejected.insert(name, status);
                }
            }
        }
        if feasible.is_empty() {
            if cycle.has("postfilter") {
                let codes: Vec<_> = outcome.rejected.iter().map(|(name, status)| (&**name, status.code)).collect();
                if let Ok(Nomination::Node(name)) = cycle.post_filter(&codes) {
                    outcome.nominated = Some(name);
                }
            }
            return failed(outcome, Status::unschedulable("no node can take the pod"));
        }
        let names: Vec<&str> = feasible.iter().map(|name| &**name).collect();
        match cycle.scores(&names) {
            Ok(scores) => outcome.scores = scores,
            Err(status) => return failed(outcome, status),
        }
        let score = |name: &String| outcome.scores.get(name).copied().unwrap_or(0);
        let best = feasible.iter().map(score).max();
        outcome.node = feasible.iter().find(|name| Some(score(name)) == best).cloned().unwrap_or_default();
        self.reserve(cycle, outcome)
    }

    fn reserve(&self, mut cycle: Cycle<P>, mut outcome: Outcome) -> Outcome {
        cycle.pod.node_name.clone_from(&outcome.node);
        let assumed = cycle.pod.clone();
        self.cluster().add_pod(assumed);
        if let Err(status) = cycle.reserve(&outcome.node) {
            return self.undo(cycle, outcome, status);
        }
        let assumed = self.annotate(&mut cycle);
        match cycle.permit(&outcome.node) {
            Ok(Permission::Allow) => self.bind(cycle, outcome),
            Ok(Permission::Wait(timeout, _)) => {
                let until = self.cluster().now().after(timeout);
                self.held.borrow_mut().insert(assumed.name.clone(), cycle);
                self.world.borrow_mut().waiting.push(Waiting { pod: assumed, until, timeout, decision: None });
                outcome.waiting = Some(timeout);
                outcome
            }
            Err(status) => self.undo(cycle, outcome, status),
        }
    }

    fn bind(&self, mut cycle: Cycle<P>, mut outcome: Outcome) -> Outcome {
        let bound = cycle.pre_bind(&outcome.node).and_then(|()| match cycle.bind(&outcome.node) {
            Err(status) if status == Status::skip() => Ok(()),
            other => other,
        });
        if let Err(status) = bound {
            return self.undo(cycle, outcome, status);
        }
        self.annotate(&mut cycle);
        cycle.post_bind(&outcome.node);
        outcome.annotations = cycle.annotations();
        outcome
    }

    /// The pod on its node, with the annotations of its binding: other pods' hooks see them.
    fn annotate(&self, cycle: &mut Cycle<P>) -> Pod {
        let mut pod = cycle.pod.clone();
        let annotations = cycle.annotations();
        if !annotations.is_empty() {
            pod.annotations.extend(annotations);
            let mut cluster = self.cluster();
            cluster.remove_pod(&pod);
            cluster.add_pod(pod.clone());
        }
        pod
    }

    fn undo(&self, mut cycle: Cycle<P>, outcome: Outcome, status: Status) -> Outcome {
        cycle.unreserve(&outcome.node);
        self.cluster().remove_pod(&cycle.pod);
        failed(outcome, status)
    }

    /// Continues the pods with a decision. Their hooks may decide about others.
    fn settle(&self) {
        loop {
            let decided = {
                let waiting = &mut self.world.borrow_mut().waiting;
                let place = waiting.iter().position(|waiting| waiting.decision.is_some());
                place.map(|place| waiting.remove(place))
            };
            let Some(Waiting { pod, decision: Some(decision), .. }) = decided else {
                return;
            };
            let Some(cycle) = self.held.borrow_mut().remove(&pod.name) else {
                continue;
            };
            let mut outcome = self.outcome(&pod.name);
            outcome.waiting = None;
            let outcome = match decision {
                Ok(()) => self.bind(cycle, outcome),
                Err(reason) => self.undo(cycle, outcome, Status::unschedulable(reason)),
            };
            self.outcomes.borrow_mut().insert(pod.name, outcome);
        }
    }
}

fn failed(mut outcome: Outcome, status: Status) -> Outcome {
    outcome.node.clear();
    outcome.waiting = None;
    outcome.status = Some(status);
    outcome
}
