//! Recorded Kubernetes events, and annotations of the binding.

use alloc::string::String;
use core::fmt::Write;

use crate::host;
use crate::metadata::ObjectReference;

/// Sets an annotation of the pod, written together with its binding. For Reserve and PreBind only: elsewhere the hook fails.
pub fn annotate(key: &str, value: &str) {
    host::annotation(key, value);
}

/// A Kubernetes event, shown by `kubectl describe` for the object it regards:
///
/// ```no_run
/// # use kubewasp_sdk::*;
/// # let pod = Pod::new(Message::default());
/// Event::new(pod.reference(), "QuotaReached").warning().note("team a has 8 of 8 GPUs").record();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Event {
    /// The object.
    pub regarding: ObjectReference,
    /// A related object, if any.
    pub related: ObjectReference,
    /// Whether it is a warning.
    pub warning: bool,
    /// For machines, e.g. `QuotaReached`.
    pub reason: String,
    /// E.g. `Scheduling`.
    pub action: String,
    /// For people.
    pub note: String,
}

impl Event {
    /// An event about `pod.reference()` or `node.reference()`.
    pub fn new(regarding: ObjectReference, reason: impl Into<String>) -> Self {
        Self { regarding, reason: reason.into(), action: "Scheduling".into(), ..Self::default() }
    }

    /// A warning, instead of a normal event.
    pub fn warning(mut self) -> Self {
        self.warning = true;
        self
    }

    /// The action; `Scheduling` by default.
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }

    /// The note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// A related object.
    pub fn related(mut self, related: ObjectReference) -> Self {
        self.related = related;
        self
    }

    /// Records the event.
    pub fn record(&self) {
        host::record_event(self.json().as_bytes());
    }

    fn json(&self) -> String {
        let mut json = String::from("{\"RegardingReference\":");
        append_reference(&mut json, &self.regarding);
        json.push_str(",\"RelatedReference\":");
        append_reference(&mut json, &self.related);
        let kind = if self.warning { "Warning" } else { "Normal" };
        let fields = [("Eventtype", kind), ("Reason", &*self.reason), ("Action", &*self.action), ("Note", &*self.note)];
        for (name, value) in fields {
            json.push(',');
            append_field(&mut json, name, value);
        }
        json.push('}');
        json
    }
}

fn append_reference(json: &mut String, reference: &ObjectReference) {
    let fields = [
        ("Kind", &reference.kind),
        ("APIVersion", &reference.api_version),
        ("Name", &reference.name),
        ("Namespace", &reference.namespace),
        ("UID", &reference.uid),
        ("ResourceVersion", &reference.resource_version),
    ];
    for (place, (name, value)) in fields.into_iter().enumerate() {
        json.push(if place == 0 { '{' } else { ',' });
        append_field(json, name, value);
    }
    json.push('}');
}

fn append_field(json: &mut String, name: &str, value: &str) {
    append_text(json, name);
    json.push(':');
    append_text(json, value);
}

fn append_text(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\0'..='\x1f' => {
                let _ = write!(json, "\\u{:04x}", c as u32);
            }
            _ => json.push(c),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_json() {
        let object = ObjectReference { kind: "Pod".into(), name: "a\"b\\c\n".into(), ..Default::default() };
        let json = Event::new(object, "R").warning().note("é").json();
        assert!(json.starts_with(r#"{"RegardingReference":{"Kind":"Pod","APIVersion":"","Name":"a\"b\\c\u000a","#));
        assert!(json.ends_with(r#""Eventtype":"Warning","Reason":"R","Action":"Scheduling","Note":"é"}"#));
    }
}
