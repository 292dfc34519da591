use super::NodeNumber;
use kubewasp_sdk::testing::{load, Cluster, Node, Pod};

fn nodes() -> Cluster {
    Cluster::new(["node-1", "node-12", "node-3", "spare"].map(Node::new))
}

#[test]
fn scores() {
    for (name, pod, config, wanted) in [
        ("the node with the pod's number", "web-3", "", [0, 0, 10, 0]),
        ("only the last digit counts", "web-42", "", [0, 10, 0, 0]),
        ("reverse", "web-3", r#"{"reverse": true}"#, [10, 10, 0, 0]),
        ("a pod without a number", "web-3a", "", [0, 0, 0, 0]),
        ("such a pod, reverse", "web", r#"{"reverse": true}"#, [0, 0, 0, 0]),
    ] {
        let plugin = load::<NodeNumber>(nodes(), config).unwrap();

        let scores = plugin.schedule(Pod::new(pod)).scores;

        assert_eq!(scores.into_values().collect::<Vec<_>>(), wanted, "{name}");
    }
}

#[test]
fn a_reserved_number_is_closed_to_all_pods() {
    let plugin = load::<NodeNumber>(nodes(), r#"{"reserved": 3}"#).unwrap();

    let outcome = plugin.schedule(Pod::new("web-3"));

    assert_eq!(outcome.rejected.len(), 1);
    assert_eq!(outcome.rejected["node-3"].reason, "node number 3 is reserved");
}

#[test]
fn pods_with_the_same_digit_have_the_same_signature() {
    let plugin = load::<NodeNumber>(nodes(), "").unwrap();
    let signature = |name| plugin.signature(Pod::new(name));

    assert_eq!(signature("web-3"), signature("db-13"));
    assert_ne!(signature("web-3"), signature("web-30"));
    assert_ne!(signature("web-0"), signature("web"));
}

#[test]
fn a_bad_configuration_is_refused() {
    for (config, wanted) in [
        (r#"{"reserved": 10}"#, "reserved must be a digit, 0 to 9, not 10"),
        (r#"{"reserved": -1}"#, "reserved must be a digit, 0 to 9, not -1"),
        (r#"{"reverse": 1}"#, "expected a boolean"),
        (r#"{"revers": false}"#, "unknown field `revers`"),
        ("{", "EOF while parsing"),
    ] {
        let error = load::<NodeNumber>(nodes(), config).err().expect(config);
        assert!(error.text().contains(wanted), "{config}: {error}");
    }
}
