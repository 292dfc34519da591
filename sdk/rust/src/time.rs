//! Points in time.

use core::time::Duration;

use crate::host;
use crate::wire::Message;

/// A point in time: nanoseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// The time of the scheduler's clock, which is simulated in a simulation. Use it instead of `SystemTime::now`.
pub fn now() -> Timestamp {
    Timestamp(host::now())
}

impl Timestamp {
    /// A time in seconds since 1970.
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// Seconds since 1970, rounded down.
    pub const fn unix(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// Time since an earlier point; zero if that is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// A later point.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// A field of type Time or MicroTime.
    pub(crate) fn read(message: Message<'_>, field: u32) -> Option<Self> {
        let content = message.message(field);
        if content.is_empty() {
            return None;
        }
        Some(Self(Self::from_unix(content.integer(1)).0.saturating_add(content.integer(2))))
    }
}
