//! 10 points for a node whose name ends in the same digit as the pod's name; no pods are signed.

use kubewasp_sdk::*;

struct NodeNumber;

impl Plugin for NodeNumber {
    /// The pod's digit.
    type State = Option<u8>;

    fn new() -> Result<Self, Error> {
        Ok(Self)
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

register!(NodeNumber);
