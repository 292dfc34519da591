use super::PreferLabel;
use kubewasp_sdk::testing::{load, Cluster, Node, Pod};

fn disks() -> Cluster {
    Cluster::new([
        Node::new("nvme-1").label("disktype", "nvme"),
        Node::new("ssd-1").label("disktype", "ssd"),
        Node::new("plain-1"),
    ])
}

#[test]
fn the_best_disk_is_preferred() {
    let plugin = load::<PreferLabel>(disks(), "").unwrap();

    let outcome = plugin.schedule(Pod::new("web"));

    assert_eq!(outcome.node, "nvme-1");
    assert_eq!(outcome.scores, [("nvme-1".into(), 100), ("ssd-1".into(), 50), ("plain-1".into(), 0)].into());
}

#[test]
fn closed_nodes_take_pods_of_kube_system_only() {
    let plugin = load::<PreferLabel>(disks(), r#"{"closed": ["nvme"]}"#).unwrap();

    let web = plugin.schedule(Pod::new("web"));
    let agent = plugin.schedule(Pod::new("agent").namespace("kube-system"));

    assert_eq!(web.rejected["nvme-1"].reason, "nodes with disktype=nvme are closed");
    assert_eq!((web.node, agent.node), ("ssd-1".into(), "nvme-1".into()));
}

#[test]
fn a_bad_configuration_is_refused() {
    for config in [r#"{"label": ""}"#, r#"{"lable": "disktype"}"#, "{"] {
        assert!(load::<PreferLabel>(disks(), config).is_err(), "{config}");
    }
}
