//! Lines of the scheduler's log, with the plugin's name: [`info!`](crate::info), [`warning!`](crate::warning) and
//! [`error!`](crate::error).

use alloc::string::{String, ToString};
use core::fmt::Display;

use crate::host;

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Severity {
    /// Information.
    Info = 0,
    /// A warning.
    Warning = 1,
    /// An error.
    Error = 2,
}

/// Whether lines of this severity are logged, for lines that are costly to build.
pub fn enabled(severity: Severity) -> bool {
    severity as i32 >= host::log_severity()
}

/// Logs a message with keys and values.
pub fn log(severity: Severity, message: &str, pairs: &[(&str, &dyn Display)]) {
    if !enabled(severity) {
        return;
    }
    if pairs.is_empty() {
        host::log(severity as i32, message);
        return;
    }
    let mut text = String::new();
    for (key, value) in pairs {
        for part in [*key, &value.to_string()] {
            text.push_str(&part.replace('\0', "\u{fffd}")); // the terminator of a text
            text.push('\0');
        }
    }
    host::log_pairs(severity as i32, message, text.as_bytes());
}

/// Logs a line of information: `info!("Node is reserved", node = node.name(), free = 3)`.
#[macro_export]
macro_rules! info {
    ($message:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::klog::log($crate::klog::Severity::Info, $message, &[$((stringify!($key), &$value)),*])
    };
}

/// Logs a warning; see [`info!`].
#[macro_export]
macro_rules! warning {
    ($message:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::klog::log($crate::klog::Severity::Warning, $message, &[$((stringify!($key), &$value)),*])
    };
}

/// Logs an error; see [`info!`].
#[macro_export]
macro_rules! error {
    ($message:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::klog::log($crate::klog::Severity::Error, $message, &[$((stringify!($key), &$value)),*])
    };
}
