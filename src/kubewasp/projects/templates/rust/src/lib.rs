//! A scheduler plugin that prefers nodes by the value of a label, and rejects some of them.

use kubewasp_sdk::*;
use serde::Deserialize;

/// The plugin's configuration: guestConfig, as JSON.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Node label.
    label: String,
    /// Preferred values of the label, best first.
    prefer: Vec<String>,
    /// Values of nodes that accept pods of kube-system only.
    closed: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { label: "disktype".into(), prefer: vec!["nvme".into(), "ssd".into()], closed: vec![] }
    }
}

/// Implements Filter and Score; the scheduler calls the extension points that a plugin implements.
struct PreferLabel {
    config: Config,
}

impl Plugin for PreferLabel {
    type State = ();

    /// Creates the plugin. An error fails the load.
    fn new() -> Result<Self, Error> {
        let config: Config = config()?;
        if config.label.is_empty() {
            return Err(Error::new("config: label must not be empty"));
        }
        Ok(Self { config })
    }
}

impl Filter for PreferLabel {
    /// Rejects closed nodes, except for pods of kube-system.
    fn filter(&mut self, cycle: &mut Cycle<()>, node: &Node) -> Verdict {
        let Config { label, closed, .. } = &self.config;
        let value = node.labels().get(label).unwrap_or_default();
        if closed.iter().any(|other| other == value) && cycle.pod.namespace() != "kube-system" {
            return Err(Status::unresolvable(format!("nodes with {label}={value} are closed")));
        }
        Ok(())
    }
}

impl Score for PreferLabel {
    /// Rates the node from 0 to 100 by the position of its label value in the list.
    fn score(&mut self, _: &mut Cycle<()>, node: &Node) -> Result<i64, Status> {
        let Config { label, prefer, .. } = &self.config;
        let value = node.labels().get(label).unwrap_or_default();
        let count = prefer.len();
        let place = prefer.iter().position(|other| other == value).unwrap_or(count);
        Ok(MAX_SCORE * (count - place) as i64 / count.max(1) as i64)
    }
}

register!(PreferLabel);

#[cfg(test)]
mod tests;
