//! Processor time of this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::ops::Sub;

/// Processor time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in the program, in nanoseconds.
    pub user_ns: u64,
    /// CPU time of the kernel for the program, in nanoseconds.
    pub system_ns: u64,
}

/// Processor time as reports show it: seconds, and seconds for each 10^9 bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CpuReport {
    /// CPU time in the program, in seconds.
    pub user_s: f64,
    /// CPU time of the kernel for the program, in seconds.
    pub system_s: f64,
    /// Both, for each 10^9 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_per_gb: Option<f64>,
}

impl Usage {
    /// Usage of all threads until now, the kernel's work for them included; zero if the kernel does not say.
    pub fn until_now() -> Usage {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Usage::default() };
        // The kernel counts in microseconds at best, whatever the unit here.
        let ns = |time: nix::sys::time::TimeVal| time.num_microseconds().max(0) as u64 * 1000;
        Usage { user_ns: ns(usage.user_time()), system_ns: ns(usage.system_time()) }
    }

    /// The usage in seconds, and for each 10^9 of `bytes`.
    pub fn cpu_report(self, bytes: Option<u64>) -> CpuReport {
        let (user_s, system_s) = (self.user_ns as f64 * 1e-9, self.system_ns as f64 * 1e-9);
        let of = |bytes: u64| (user_s + system_s) / (bytes as f64 * 1e-9);
        CpuReport { user_s, system_s, s_per_gb: bytes.filter(|&bytes| bytes > 0).map(of) }
    }
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, earlier: Usage) -> Usage {
        Usage {
            // A reading that failed is zero, and no difference may be negative.
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}
