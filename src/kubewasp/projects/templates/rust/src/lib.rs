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
        // The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about
        // nodes that have changed. Remove this line if the plugin looks at other nodes, the time, or fields that hooks change.
        declare_pure();
        // The best of the nodes gets 100, the others a share of it.
        normalize_scores(Normalization::PROPORTIONAL);
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
    /// Rates the node by the position of its label value in the list.
    fn score(&mut self, _: &mut Cycle<()>, node: &Node) -> Result<i64, Status> {
        let Config { label, prefer, .. } = &self.config;
        let value = node.labels().get(label).unwrap_or_default();
        let place = prefer.iter().position(|other| other == value).unwrap_or(prefer.len());
        Ok((prefer.len() - place) as i64)
    }
}

register!(PreferLabel);

#[cfg(test)]
mod tests;
