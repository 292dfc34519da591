//! Answers of the fake scheduler, in the place of the imports of a guest.

use std::borrow::ToOwned;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::cluster;
use super::encode::Encoder;
use super::fake::{ask, Fake};
use crate::{ClusterEvent, EventAction, EventResource, Normalization};

/// A getter: the full length, and the value only as a whole.
fn give<T: Copy>(value: &[T], buf: &mut [T]) -> usize {
    if value.len() <= buf.len() {
        buf[..value.len()].copy_from_slice(value);
    }
    value.len()
}

/// As many numbers as fit.
fn give_some(value: &[i64], buf: &mut [i64]) -> usize {
    let count = value.len().min(buf.len());
    buf[..count].copy_from_slice(&value[..count]);
    value.len()
}

macro_rules! given {
    ($($name:ident $type:ty, |$fake:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(buf: &mut [$type]) -> usize {
            ask(|$fake| give($value, buf))
        })*
    };
}

given! {
    config u8, |fake| fake.world.borrow().config.as_bytes();
    current_pod u8, |fake| &fake.pod;
    target_pod u8, |fake| &fake.target;
    feasible_rows i32, |fake| &fake.feasible;
    node_scores i64, |fake| &fake.scores;
    node_statuses i32, |fake| &fake.statuses;
    event_old u8, |fake| fake.change.as_ref().map_or(&[], |change| &*change.before);
    event_new u8, |fake| fake.change.as_ref().map_or(&[], |change| &*change.after);
}

pub(crate) fn waiting_pods(buf: &mut [u8]) -> usize {
    ask(|fake| {
        let mut list = Encoder::default();
        for waiting in &fake.world.borrow().waiting {
            list.bytes(2, &waiting.pod.encode());
        }
        give(&list.0, buf)
    })
}

pub(crate) fn send_cluster_events(pairs: &[i32]) {
    let events = pairs.chunks_exact(2).map(|pair| ClusterEvent {
        resource: EventResource::from_number(pair[0]),
        actions: EventAction(pair[1] as u32),
    });
    ask(|fake| fake.world.borrow_mut().registered = events.collect());
}

pub(crate) fn send_node_names(names: &[u8]) {
    let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    ask(|fake| fake.nodes = Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()));
}

pub(crate) fn send_nominated(name: &str) {
    ask(|fake| fake.nominated = name.to_owned());
}

pub(crate) fn send_reason(text: &str) {
    ask(|fake| fake.reason = text.to_owned());
}

pub(crate) fn send_hint(text: &str) {
    ask(|fake| fake.hint = text.to_owned());
}

pub(crate) fn record_event(json: &[u8]) {
    ask(|fake| fake.world.borrow_mut().events.push(String::from_utf8_lossy(json).into_owned()));
}

pub(crate) fn log_severity() -> i32 {
    0
}

pub(crate) fn log(severity: i32, message: &str) {
    let letter = ["I", "W", "E"][severity.clamp(0, 2) as usize];
    ask(|fake| fake.world.borrow_mut().logs.push(format!("{letter} {message}")));
}

pub(crate) fn log_pairs(severity: i32, message: &str, pairs: &[u8]) {
    let text = String::from_utf8_lossy(pairs);
    let words: Vec<&str> = text.split_terminator('\0').collect();
    let mut line = format!("{message:?}");
    for pair in words.chunks(2) {
        line += &format!(" {}={:?}", pair[0], pair.get(1).unwrap_or(&"(MISSING)"));
    }
    log(severity, &line);
}

pub(crate) fn pod_signature(signature: u64) {
    ask(|fake| fake.signature = signature);
}

pub(crate) fn normalization(declared: Normalization) {
    ask(|fake| fake.normalization = Some(declared));
}

/// `kubewasp plugin test` compares the answers of a pure plugin.
pub(crate) fn pure() {}

pub(crate) fn pod_read(_: u32, _: u32, _: u32, _: u32) {}

pub(crate) fn now() -> i64 {
    ask(|fake| fake.world.borrow().cluster.now().0)
}

pub(crate) fn cycle() -> i32 {
    ask(|fake| fake.cycles)
}

pub(crate) fn resource(name: &str) -> i32 {
    ask(|fake| {
        let known = fake.resources.iter().position(|resource| resource == name);
        known.unwrap_or_else(|| {
            fake.resources.push(name.to_owned());
            fake.resources.len() - 1
        }) as i32
    })
}

pub(crate) fn pod_requests(buf: &mut [i64]) -> usize {
    ask(|fake| {
        let mut numbers = cluster::non_zero(&fake.pod).to_vec();
        numbers.extend(fake.resources.iter().map(|name| cluster::request(&fake.pod, name)));
        give_some(&numbers, buf)
    })
}

pub(crate) fn at_hand(known: &mut [i64; 3]) -> i32 {
    ask(|fake| {
        known[0] = i64::from(fake.cycles);
        give_some(&numbers(fake, fake.row), &mut known[1..]);
        fake.row
    })
}

fn numbers(fake: &Fake, row: i32) -> Vec<i64> {
    fake.world.borrow().cluster.at(row).map_or_else(Vec::new, |found| found.numbers(&fake.resources))
}

pub(crate) fn node_info(row: i32, buf: &mut [i64]) -> usize {
    ask(|fake| give_some(&numbers(fake, row), buf))
}

pub(crate) fn node_rows() -> i32 {
    ask(|fake| fake.world.borrow().cluster.count() as i32)
}

pub(crate) fn node_row(name: &str) -> i32 {
    ask(|fake| fake.world.borrow().cluster.row(name).map_or(-1, |row| row as i32))
}

pub(crate) fn node_name(row: i32, buf: &mut [u8]) -> usize {
    ask(|fake| fake.world.borrow().cluster.at(row).map_or(0, |found| give(found.node.name.as_bytes(), buf)))
}

pub(crate) fn node_object(row: i32, buf: &mut [u8]) -> usize {
    ask(|fake| fake.world.borrow().cluster.at(row).map_or(0, |found| give(&found.object, buf)))
}

pub(crate) fn node_pods(row: i32, buf: &mut [u8]) -> usize {
    ask(|fake| {
        let mut list = Encoder::default();
        if let Some(found) = fake.world.borrow().cluster.at(row) {
            for pod in &found.pods {
                list.bytes(2, &pod.encode());
            }
        }
        give(&list.0, buf)
    })
}

pub(crate) fn send_node_scores(scores: &[i64]) {
    ask(|fake| fake.sent = Some(scores.to_vec()));
}

pub(crate) fn send_sort_key(key: &[u8]) {
    ask(|fake| fake.sort_key = key.to_vec());
}

pub(crate) fn queued_at() -> i64 {
    ask(|fake| fake.queued_at)
}

pub(crate) fn event_resource() -> i32 {
    ask(|fake| fake.change.as_ref().map_or(0, |change| change.resource as i32))
}

pub(crate) fn event_action() -> i32 {
    ask(|fake| fake.change.as_ref().map_or(0, |change| change.action.0 as i32))
}

pub(crate) fn state() -> i32 {
    ask(|fake| fake.state)
}

pub(crate) fn allow_waiting_pod(uid: &str) -> bool {
    ask(|fake| super::schedule::decide(&mut fake.world.borrow_mut().waiting, uid, Ok(())))
}

pub(crate) fn reject_waiting_pod(uid: &str, reason: &str) -> bool {
    ask(|fake| super::schedule::decide(&mut fake.world.borrow_mut().waiting, uid, Err(reason.to_owned())))
}

pub(crate) fn annotation(key: &str, value: &str) {
    ask(|fake| {
        assert!(
            matches!(fake.hook, "reserve" | "prebind"),
            "annotate is allowed in reserve and pre_bind only, not in {:?}",
            fake.hook
        );
        fake.annotations.push((key.to_owned(), value.to_owned()));
    });
}
