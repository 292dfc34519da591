//! A scheduler plugin that prefers the node with the pod's number. web-3 prefers node-3.

use kubewasp_sdk::*;
use serde::Deserialize;

const SCORE: i64 = 10;

/// The plugin's configuration: guestConfig, as JSON.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Prefer nodes with another number instead.
    reverse: bool,
    /// Nodes with this number accept no pods.
    reserved: Option<i64>,
}

/// Compares the last digits of names. A name that does not end in a digit never scores.
struct NodeNumber {
    reverse: bool,
    /// The reserved number, and the reason of a rejection.
    reserved: Option<(u8, String)>,
}

impl Plugin for NodeNumber {
    /// The pod's digit, read once per cycle and not once per node.
    type State = Option<u8>;

    fn new() -> Result<Self, Error> {
        let config: Config = config()?;
        let reserved = match config.reserved {
            None => None,
            Some(number @ 0..=9) => Some((number as u8, format!("node number {number} is reserved"))),
            Some(number) => {
                return Err(Error::new(format!("config: reserved must be a digit, 0 to 9, not {number}")));
            }
        };
        Ok(Self { reverse: config.reverse, reserved })
    }
}

impl SignPod for NodeNumber {
    /// The same for pods with the same digit. They share the results for a node until the node changes.
    fn sign_pod(&mut self, pod: &Pod) -> u64 {
        Hasher::new().int(last_digit(pod.name()).map_or(-1, i64::from)).sum()
    }
}

impl Filter for NodeNumber {
    /// Rejects nodes with the reserved number.
    fn filter(&mut self, _: &mut Cycle<Self::State>, node: &Node) -> Verdict {
        match &self.reserved {
            Some((number, reason)) if last_digit(node.name()) == Some(*number) => {
                Err(Status::unschedulable(reason.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl PreScore for NodeNumber {
    /// Reads the pod's digit.
    fn pre_score(&mut self, cycle: &mut Cycle<Self::State>, _: &Nodes) -> Verdict {
        *cycle.state = last_digit(cycle.pod.name());
        Ok(())
    }
}

impl Score for NodeNumber {
    /// Compares the digits of the pod and the node.
    fn score(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Result<i64, Status> {
        Ok(match (*cycle.state, last_digit(node.name())) {
            (Some(of_pod), Some(of_node)) if (of_pod == of_node) != self.reverse => SCORE,
            _ => 0,
        })
    }
}

/// The digit at the end of the name.
fn last_digit(name: &str) -> Option<u8> {
    name.bytes().last().filter(u8::is_ascii_digit).map(|digit| digit - b'0')
}

register!(NodeNumber);

#[cfg(test)]
mod tests;
