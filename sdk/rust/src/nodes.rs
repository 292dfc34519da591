//! Sets of nodes: the cluster, feasible nodes, their scores, rejected nodes; and a cache of values per node.

use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::host;
use crate::node::Node;
use crate::node_table::Table;
use crate::normalization::Normalization;
use crate::pod::Pods;
use crate::status::Code;

/// The cluster, as this scheduling cycle sees it.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a>(&'a Table);

impl<'a> Cluster<'a> {
    #[inline]
    pub(crate) const fn new(table: &'a Table) -> Self {
        Self(table)
    }

    /// All nodes.
    pub fn nodes(self) -> impl Iterator<Item = Node<'a>> + 'a {
        (0..host::node_rows()).filter_map(move |row| Node::of_row(self.0, row))
    }

    /// The node with this name.
    pub fn node(self, name: &str) -> Option<Node<'a>> {
        Node::of_row(self.0, host::node_row(name))
    }
}

/// The pods that wait at Permit, each with its `node_name`.
pub fn waiting_pods() -> Pods {
    Pods::new(host::read(host::waiting_pods))
}

/// Allows a waiting pod on behalf of this plugin, effective when the hook returns. The result: whether the pod was waiting.
pub fn allow_waiting_pod(uid: &str) -> bool {
    host::allow_waiting_pod(uid)
}

/// Rejects a waiting pod, effective when the hook returns. The result: whether the pod was waiting.
pub fn reject_waiting_pod(uid: &str, reason: &str) -> bool {
    host::reject_waiting_pod(uid, reason)
}

/// The feasible nodes, in scoring order.
#[derive(Debug)]
pub struct Nodes<'a> {
    table: &'a Table,
    rows: OnceCell<Vec<i32>>,
}

impl<'a> Nodes<'a> {
    pub(crate) const fn feasible(table: &'a Table) -> Self {
        Self { table, rows: OnceCell::new() }
    }

    fn rows(&self) -> &[i32] {
        self.rows.get_or_init(|| host::read_numbers(host::feasible_rows))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    /// The nodes.
    pub fn iter(&self) -> impl Iterator<Item = Node<'a>> + '_ {
        self.rows().iter().filter_map(|&row| Node::of_row(self.table, row))
    }
}

/// The scores of the feasible nodes. `NormalizeScore` changes `values` in place.
#[derive(Debug)]
pub struct NodeScores<'a> {
    /// Scores, in the order of `nodes`.
    pub values: Vec<i64>,
    /// The nodes.
    pub nodes: Nodes<'a>,
}

impl<'a> NodeScores<'a> {
    pub(crate) fn read(table: &'a Table) -> Self {
        Self { values: host::read_numbers(host::node_scores), nodes: Nodes::feasible(table) }
    }

    /// Scales the scores to 0 to `MAX_SCORE`, in proportion to the highest; with `reverse`, the lowest score is the best.
    /// Scores below 0 count as 0. If this is all that `NormalizeScore` does,
    /// [`normalize_scores`](crate::normalize_scores) is faster.
    pub fn normalize(&mut self, reverse: bool) {
        let normalization = Normalization::PROPORTIONAL;
        let normalization = if reverse { normalization.reversed() } else { normalization };
        normalization.proportional(&mut self.values, 0);
    }

    /// Scales the scores so that the lowest becomes 0 and the highest `MAX_SCORE`, or the opposite with `reverse`. Equal
    /// scores all become `MAX_SCORE`.
    pub fn stretch(&mut self, reverse: bool) {
        let normalization = Normalization::MIN_MAX;
        let normalization = if reverse { normalization.reversed() } else { normalization };
        normalization.min_max(&mut self.values);
    }
}

/// The status codes of the rejected nodes, for `PostFilter`.
#[derive(Debug)]
pub struct NodeStatuses<'a> {
    table: &'a Table,
    pairs: OnceCell<Vec<i32>>,
}

impl<'a> NodeStatuses<'a> {
    pub(crate) const fn new(table: &'a Table) -> Self {
        Self { table, pairs: OnceCell::new() }
    }

    fn pairs(&self) -> &[i32] {
        self.pairs.get_or_init(|| host::read_numbers(host::node_statuses))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.pairs().len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nodes and their codes.
    pub fn iter(&self) -> impl Iterator<Item = (Node<'a>, Code)> + '_ {
        self.pairs()
            .chunks_exact(2)
            .filter_map(|pair| Some((Node::of_row(self.table, pair[0])?, Code::from_number(pair[1]))))
    }
}

/// A value per node that is computed once, e.g. a number parsed from a label, until the node changes. It is a field of the
/// plugin:
///
/// ```
/// # use kubewasp_sdk::*;
/// struct Cheapest {
///     prices: NodeCache<i64>,
/// }
/// # impl Cheapest {
/// # fn score(&mut self, node: &Node) -> i64 {
/// *self.prices.get(node, |node| node.labels().get("price").and_then(|text| text.parse().ok()).unwrap_or(0))
/// # } }
/// # let _ = Cheapest { prices: NodeCache::of_objects() };
/// ```
#[derive(Debug)]
pub struct NodeCache<T> {
    entries: Vec<Option<(i64, T)>>,
    with_pods: bool,
    latest: Option<T>,
}

impl<T> NodeCache<T> {
    /// A cache of a value that depends on the Node object only: labels, taints, images, capacity.
    pub const fn of_objects() -> Self {
        Self { entries: Vec::new(), with_pods: false, latest: None }
    }

    /// A cache of a value that also depends on the pods on the node or on their requests.
    pub const fn with_pods() -> Self {
        Self { entries: Vec::new(), with_pods: true, latest: None }
    }

    /// The value for the node, computed now if the node is new or changed.
    pub fn get(&mut self, node: &Node<'_>, compute: impl FnOnce(&Node<'_>) -> T) -> &mut T {
        let Some((row, object, all)) = node.place() else {
            return self.latest.insert(compute(node)); // a node outside of the cluster
        };
        let generation = if self.with_pods { all } else { object };
        if row >= self.entries.len() {
            self.entries.resize_with(row + 1, || None);
        }
        let entry = &mut self.entries[row];
        if entry.as_ref().is_none_or(|(known, _)| *known != generation) {
            *entry = Some((generation, compute(node)));
        }
        match entry {
            Some((_, value)) => value,
            None => unreachable!(),
        }
    }
}
