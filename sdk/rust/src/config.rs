//! The plugin's configuration.

use alloc::string::String;

use crate::host;
#[cfg(feature = "json")]
use crate::status::Error;

/// The plugin's configuration (`guestConfig`) as text.
pub fn config_text() -> String {
    String::from_utf8(host::read(host::config)).unwrap_or_default()
}

/// The plugin's configuration, decoded from JSON; an empty one is `{}`. With `#[serde(default, deny_unknown_fields)]`, fields
/// have defaults and misspelled ones are errors.
#[cfg(feature = "json")]
pub fn config<T: serde::de::DeserializeOwned>() -> Result<T, Error> {
    let text = config_text();
    let text = if text.trim().is_empty() { "{}" } else { &text };
    serde_json::from_str(text).map_err(|error| Error::new(alloc::format!("config: {error}")))
}
