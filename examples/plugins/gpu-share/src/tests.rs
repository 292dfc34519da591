use super::GpuShare;
use crate::fragments::{TypicalPod, Workload};
use crate::gpus::{parsed, shown, Gpus, Request};
use crate::policy::{Ask, NodeState, Policy};
use kubewasp_sdk::testing::{load, Cluster, Node, Plugin, Pod};

const GPU: &str = "kubewasp.dev/gpu-milli";
const CHOICE: &str = "kubewasp.dev/gpus";
const TYPICAL: &str = r#"{"policy": "fgd", "typical": [
    {"requests": {"cpu": 4000, "kubewasp.dev/gpu-milli": 500}, "pods": 3},
    {"requests": {"cpu": 8000, "kubewasp.dev/gpu-milli": 1000}, "pods": 1}
]}"#;

fn node(name: &str, gpus: i64) -> Node {
    Node::new(name).allocatable("cpu", "64").allocatable(GPU, &(gpus * 1000).to_string())
}

fn pod(name: &str, milli: i64) -> Pod {
    Pod::new(name).request("cpu", "4").request(GPU, &milli.to_string())
}

fn on(node: &str, name: &str, milli: i64, gpus: &str) -> Pod {
    pod(name, milli).on(node).annotation(CHOICE, gpus)
}

fn cluster<const N: usize>(gpus: i64, pods: [Pod; N]) -> Cluster {
    let mut cluster = Cluster::new([node("a", gpus)]);
    pods.into_iter().for_each(|pod| cluster.add_pod(pod));
    cluster
}

/// The GPUs of a scheduled pod.
fn choice(plugin: &Plugin<GpuShare>, pod: Pod) -> String {
    let found = plugin.schedule(pod).annotations;
    found.into_iter().find(|(key, _)| key == CHOICE).map(|(_, gpus)| gpus).unwrap_or_default()
}

fn with(policy: &str) -> String {
    format!(r#"{{"policy": "{policy}"}}"#)
}

// ---------------------------------------------------------------------- requests and GPUs

#[test]
fn an_amount_is_part_of_a_gpu_or_whole_ones() {
    assert_eq!(Request::of(0), Some(Request { count: 0, milli: 0 }));
    assert_eq!(Request::of(460), Some(Request { count: 1, milli: 460 }));
    assert_eq!(Request::of(3000), Some(Request { count: 3, milli: 1000 }));
    assert_eq!(Request::of(1500), None);
}

#[test]
fn the_tightest_gpu_takes_part_of_one_and_the_first_idle_ones_take_whole_ones() {
    let gpus = Gpus(vec![1000, 300, 500, 500, 1000]);
    assert_eq!(gpus.tightest(Request { count: 1, milli: 400 }), Some(vec![2]));
    assert_eq!(gpus.tightest(Request { count: 2, milli: 1000 }), Some(vec![0, 4]));
    assert_eq!(gpus.tightest(Request { count: 3, milli: 1000 }), None);
}

#[test]
fn an_annotation_lists_gpus() {
    assert_eq!(parsed("0,3"), Some(vec![0, 3]));
    assert_eq!(parsed("0,x"), None);
    assert_eq!(parsed(""), None);
    assert_eq!(shown(&[0, 3]), "0,3");
}

// ---------------------------------------------------------------------- fragments

fn typical(cpu: i64, gpu: i64, models: &[&str], pods: f64) -> TypicalPod {
    let requests = [("cpu".to_string(), cpu), (GPU.to_string(), gpu)].into();
    let names: Vec<String> = models.iter().map(ToString::to_string).collect();
    let affinity = if names.is_empty() { [].into() } else { [("model".to_string(), names)].into() };
    TypicalPod { requests, affinity, pods }
}

fn workload(pods: Vec<TypicalPod>) -> Workload {
    Workload::of(pods, GPU, "model").unwrap()
}

#[test]
fn a_fragment_is_what_typical_pods_cannot_use() {
    let gpus = Gpus(vec![1000, 300]);
    let fragment = |pod, cpu| workload(vec![pod]).on("T4").fragment(cpu, &gpus);

    assert_eq!(fragment(typical(4000, 500, &[], 1.0), 8000), 300.0); // the second GPU is too small
    assert_eq!(fragment(typical(4000, 2000, &[], 1.0), 8000), 1300.0); // two idle GPUs are not there
    assert_eq!(fragment(typical(4000, 500, &[], 1.0), 3999), 1300.0); // too little CPU
    assert_eq!(fragment(typical(4000, 500, &["V100"], 1.0), 8000), 1300.0); // another model
    assert_eq!(fragment(typical(4000, 500, &["V100", "T4"], 1.0), 8000), 300.0);
    assert_eq!(fragment(typical(1000, 0, &[], 1.0), 8000), 1300.0); // no GPU is of use
}

#[test]
fn shares_are_normalized() {
    let half = workload(vec![typical(0, 500, &[], 20.0), typical(0, 2000, &[], 20.0)]);
    assert_eq!(half.on("").fragment(0, &Gpus(vec![1000, 300])), 0.5 * 300.0 + 0.5 * 1300.0);
}

// ---------------------------------------------------------------------- policies

fn score(policy: Policy, gpu: i64, state: &NodeState) -> i64 {
    let ask = Ask { cpu: 4000, gpu: Request::of(gpu).unwrap() };
    policy.score(ask, state, &Workload::default().on(""))
}

fn state(cpu: i64, left: &[i64], kinds: &[i64]) -> NodeState {
    let kinds = kinds.iter().map(|&milli| crate::policy::kind(Request::of(milli).unwrap())).collect();
    NodeState { cpu, gpus: Gpus(left.to_vec()), kinds, ..NodeState::default() }
}

#[test]
fn the_scores_are_those_of_the_formulas() {
    let used = state(36_000, &[1000, 300, 0, 1000], &[700, 1000]);
    // 1 − (½ × 32,000/128,000 + ½ × 1,300/8,000)
    assert_eq!(score(Policy::BestFit, 1000, &used), 79);
    // 1 − (36,000/128,000 × 4,000/128,000 + 2,300/8,000 × 1,000/8,000) / 2
    assert_eq!(score(Policy::DotProduct, 1000, &used), 97);
    assert_eq!(score(Policy::GpuPacking, 250, &used), 97); // on a GPU in use, 30 % of it free
    assert_eq!(score(Policy::GpuPacking, 2000, &used), 48); // two idle GPUs of a node in use
    assert_eq!(score(Policy::GpuPacking, 500, &state(0, &[1000, 1000], &[])), 31); // an idle node
    assert_eq!(score(Policy::GpuClustering, 500, &used), 50 + 25 * 5700 / 8000);
    assert_eq!(score(Policy::GpuClustering, 2000, &used), 25 * 5700 / 8000);
    assert_eq!(score(Policy::GpuClustering, 500, &state(0, &[500], &[500])), 75 + 25 * 7500 / 8000);
    assert_eq!(score(Policy::GpuClustering, 500, &state(0, &[1000; 8], &[])), 25);
    assert_eq!(score(Policy::GpuPacking, 0, &used), 0);
    assert_eq!(score(Policy::GpuClustering, 0, &used), 0);
}

#[test]
fn fgd_fills_a_gpu_that_would_be_a_fragment() {
    let plugin = load::<GpuShare>(cluster(2, [on("a", "half", 500, "1")]), TYPICAL).unwrap();

    assert_eq!(choice(&plugin, pod("other", 500)), "1");
}

#[test]
fn a_pod_gets_gpus_and_the_next_one_sees_them() {
    for policy in ["bestFit", "dotProduct", "gpuPacking", "gpuClustering", "random"] {
        let used = [on("a", "first", 600, "0"), on("a", "second", 1000, "2")];
        let plugin = load::<GpuShare>(cluster(3, used), &with(policy)).unwrap();

        assert_eq!(plugin.schedule(pod("two", 2000)).rejected["a"].reason, "too few idle GPUs", "{policy}");
        assert_eq!(choice(&plugin, pod("part", 700)), "1", "{policy}");
        assert_eq!(choice(&plugin, pod("other", 400)), "0", "{policy}");
        assert_eq!(plugin.schedule(pod("last", 400)).rejected["a"].reason, "no GPU has room for the pod", "{policy}");
        assert!(choice(&plugin, Pod::new("none")).is_empty(), "{policy}");
    }
}

#[test]
fn a_pod_whose_choice_is_unknown_counts_where_it_fits_tightest() {
    let used = [on("a", "known", 600, "1"), pod("unknown", 400).on("a")];
    let plugin = load::<GpuShare>(cluster(2, used), &with("bestFit")).unwrap();

    assert_eq!(choice(&plugin, pod("whole", 1000)), "0");
}

#[test]
fn ties_go_to_the_first_name() {
    let nodes = || Cluster::new([node("b", 2), node("a", 2), node("c", 4)]);
    let scores = |config| load::<GpuShare>(nodes(), config).unwrap().schedule(pod("web", 1000)).scores;

    let equal = scores("");
    assert_eq!(equal["a"], equal["b"]);
    let ordered = scores(r#"{"tiesByName": true}"#);
    assert!(ordered["a"] > ordered["b"] && ordered["b"] > ordered["c"], "{ordered:?}");
}

#[test]
fn more_than_one_gpu_must_be_whole_ones() {
    let plugin = load::<GpuShare>(cluster(2, []), &with("bestFit")).unwrap();

    let rejected = plugin.schedule(pod("odd", 1500));
    assert_eq!(rejected.node, "");
    assert!(rejected
        .status
        .unwrap()
        .reason
        .contains("1500 of kubewasp.dev/gpu-milli: more than one GPU must be whole"));
}

#[test]
fn bad_configurations_are_refused() {
    let refused = |config: &str| load::<GpuShare>(cluster(1, []), config).err().unwrap().to_string();

    assert!(refused(&with("fgd")).contains("policy fgd requires typical"));
    let odd = r#"{"typical": [{"requests": {"kubewasp.dev/gpu-milli": 1500}, "pods": 1}]}"#;
    assert!(refused(odd).contains("kubewasp.dev/gpu-milli must be below 1000 or whole GPUs, not 1500"));
    assert!(refused(r#"{"typical": [{"pods": -1}]}"#).contains("pods must be positive"));
    assert!(refused(r#"{"policy": "best"}"#).contains("unknown variant `best`"));
}
