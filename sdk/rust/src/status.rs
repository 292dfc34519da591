//! Results of hooks.

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::fmt;

/// A status code of the Kubernetes scheduling framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// An error; the pod is tried again later.
    Error = 1,
    /// The node or pod is rejected; preemption may help.
    Unschedulable = 2,
    /// The node or pod is rejected; preemption cannot help.
    UnschedulableAndUnresolvable = 3,
    /// The binding of the pod is delayed.
    Wait = 4,
    /// The plugin is skipped for the pod.
    Skip = 5,
}

impl Code {
    pub(crate) fn from_number(number: i32) -> Code {
        match number {
            2 => Code::Unschedulable,
            3 => Code::UnschedulableAndUnresolvable,
            4 => Code::Wait,
            5 => Code::Skip,
            _ => Code::Error,
        }
    }
}

/// A result of a hook other than success: a code, and a reason for people. It is the `Err` of a hook:
///
/// ```
/// # use kubewasp_sdk::*;
/// # fn filter(spot: bool) -> Verdict {
/// if !spot {
///     return Err(Status::unschedulable("node is no spot node").with_hint("label lifecycle=spot"));
/// }
/// Ok(())
/// # }
/// # assert!(filter(false).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The code.
    pub code: Code,
    /// Reason, for people.
    pub reason: Cow<'static, str>,
    /// What the pod or node would need, such as `label disk=ssd`; empty for none. `kubewasp explain` shows it.
    pub hint: Cow<'static, str>,
}

/// Result of a hook without further data.
pub type Verdict = Result<(), Status>;

impl Status {
    const fn new(code: Code, reason: Cow<'static, str>) -> Self {
        Self { code, reason, hint: Cow::Borrowed("") }
    }

    /// Rejects the node or pod; preemption may help.
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unschedulable, reason.into())
    }

    /// Rejects the node or pod; preemption cannot help.
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, reason.into())
    }

    /// An error; the pod is tried again later.
    pub fn failed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Error, reason.into())
    }

    /// Skips the plugin for the pod: its Filter after PreFilter, its Score after PreScore, its Bind in favour of the next
    /// bind plugin.
    pub const fn skip() -> Self {
        Self::new(Code::Skip, Cow::Borrowed(""))
    }

    pub(crate) fn wait(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Wait, reason.into())
    }

    /// The status with a hint, of up to 1,024 bytes.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Whether this is a rejection, as opposed to an error.
    pub fn is_rejection(&self) -> bool {
        matches!(self.code, Code::Unschedulable | Code::UnschedulableAndUnresolvable)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.code)?;
        if self.reason.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.reason)
        }
    }
}

/// An error that refuses the guest: the configuration is invalid. Any other error becomes one with `?`, and one
/// becomes a failed [`Status`] in a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Cow<'static, str>);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The text of the error.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// As in crates for errors: this type is no `core::error::Error` itself, so that all others can become one.
impl<E: core::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Cow::Owned(error.to_string()))
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Status::failed(error.0)
    }
}
