//! Processor time of this process, and its place among others.

#![allow(unsafe_code, reason = "the scheduling policy has no safe interface")]
#![allow(clippy::disallowed_methods, reason = "scheduling groups are set through a file")]

use nix::sys::resource::{UsageWho, getrusage};

/// User and system time so far, in seconds; 0 when the system does not say.
pub fn cpu_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0.0 };
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|t| t.tv_sec() as f64 + t.tv_usec() as f64 * 1e-6)
        .sum()
}

/// Asks the kernel to run this process, and the threads it starts from now on, before ordinary ones. `priority` is 1 to 99,
/// and higher goes first. Without the privilege the request has no effect: the program still works, but handles events
/// later, and its reports say how late.
pub fn run_first(priority: i32) {
    // SAFETY: all-zero is a valid value of this plain C structure; it outlives the call.
    let refused = unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        // Round robin and not first-in-first-out, so that two processes of one priority share a processor.
        libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) != 0
    };
    if refused {
        // Processes of one session share a scheduling group; niceness alone counts only within it.
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}
