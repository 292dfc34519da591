//! Prefers the node with the pod's number, and rejects nodes with the number 4: `no_std`, without a configuration.
#![cfg_attr(target_arch = "wasm32", no_std)]

use kubewasp_sdk::*;

struct NodeNumber;

impl Plugin for NodeNumber {
    /// The pod's digit.
    type State = Option<u8>;

    fn new() -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Filter for NodeNumber {
    fn filter(&mut self, _: &mut Cycle<Self::State>, node: &Node) -> Verdict {
        match last_digit(node.name()) {
            Some(b'4') => Err(Status::unschedulable("node number 4 is reserved")),
            _ => Ok(()),
        }
    }
}

impl PreScore for NodeNumber {
    fn pre_score(&mut self, cycle: &mut Cycle<Self::State>, _: &Nodes) -> Verdict {
        *cycle.state = last_digit(cycle.pod.name());
        Ok(())
    }
}

impl Score for NodeNumber {
    fn score(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Result<i64, Status> {
        let digit = last_digit(node.name());
        Ok(if digit.is_some() && digit == *cycle.state { 10 } else { 0 })
    }
}

fn last_digit(name: &str) -> Option<u8> {
    name.bytes().last().filter(u8::is_ascii_digit)
}

register!(NodeNumber: Filter, PreScore, Score);
