//! Fragments: GPU thousandths of a node that typical pods cannot use.
//!
//! Q. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023.

use std::collections::HashMap;

use serde::Deserialize;

use crate::gpus::{Gpus, Request, WHOLE};

/// A kind of pods in the workload, as `kubewasp trace shapes` counts them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypicalPod {
    /// Amounts by resource: CPU in millicores, GPUs in thousandths.
    #[serde(default)]
    pub requests: HashMap<String, i64>,
    /// Values of node labels, of which it needs one each.
    #[serde(default)]
    pub affinity: HashMap<String, Vec<String>>,
    /// Number of such pods.
    pub pods: f64,
}

/// A workload: shapes of pods with shares that sum up to 1.
#[derive(Clone, Debug, Default)]
pub struct Workload(Vec<Shape>);

#[derive(Clone, Debug)]
struct Shape {
    cpu: i64,
    request: Request,
    models: Vec<String>,
    share: f64,
}

impl Workload {
    /// The shapes of some kinds of pods; `resource` are thousandths of GPUs, `label` is that of their models.
    pub fn of(pods: Vec<TypicalPod>, resource: &str, label: &str) -> Result<Self, String> {
        let total: f64 = pods.iter().map(|pod| pod.pods).sum();
        if pods.iter().any(|pod| !pod.pods.is_finite() || pod.pods < 0.0) || (!pods.is_empty() && total <= 0.0) {
            return Err("typical: pods must be positive numbers".into());
        }
        let shape = |mut pod: TypicalPod| {
            let milli = pod.requests.get(resource).copied().unwrap_or(0);
            let request = Request::of(milli)
                .ok_or_else(|| format!("typical: {resource} must be below {WHOLE} or whole GPUs, not {milli}"))?;
            Ok(Shape {
                cpu: pod.requests.get("cpu").copied().unwrap_or(0),
                request,
                models: pod.affinity.remove(label).unwrap_or_default(),
                share: pod.pods / total,
            })
        };
        pods.into_iter().map(shape).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The workload on nodes with GPUs of one model.
    pub fn on(&self, model: &str) -> Possible {
        Possible(self.0.iter().map(|shape| (shape.clone(), shape.accepts(model))).collect())
    }
}

impl Shape {
    fn accepts(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|name| name == model)
    }
}

/// Shapes, each with whether a model of GPUs suits it.
#[derive(Clone, Debug, Default)]
pub struct Possible(Vec<(Shape, bool)>);

impl Possible {
    /// Expected thousandths that a pod of the workload could not use.
    ///
    /// HOT PATH: once for each GPU of each node that may take a pod.
    pub fn fragment(&self, cpu: i64, gpus: &Gpus) -> f64 {
        let idle = gpus.left();
        self.0.iter().map(|(shape, suits)| shape.share * unusable(shape, *suits, cpu, gpus, idle) as f64).sum()
    }
}

fn unusable(shape: &Shape, suits: bool, cpu: i64, gpus: &Gpus, idle: i64) -> i64 {
    if shape.request.count == 0 || !suits || cpu < shape.cpu {
        return idle;
    }
    let (mut fitting, mut rest) = (0, 0);
    for &left in &gpus.0 {
        if left >= shape.request.milli {
            fitting += 1;
        } else {
            rest += left;
        }
    }
    if fitting >= shape.request.count {
        rest
    } else {
        idle
    }
}
