//! Checks that the kernel supports the transports of a scenario.

#![allow(clippy::disallowed_methods, reason = "the kernel says in files what it has")]

use super::{plan, socket};
use crate::TestbedError;
use crate::scenario::Job;
use std::collections::BTreeSet;

const CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Controls that Headway brings as programs for the kernel.
const OURS: [&str; 4] = ["dctcp", "d2tcp", "l2dct", "vegas"];

/// An error in one sentence unless the kernel has what flows of this job ask for, and ports for all of them.
pub fn check_kernel(job: &Job) -> Result<(), TestbedError> {
    if let Some((src, dst, flows)) = plan::largest_crowd(&job.slow.flows, &job.stacks) {
        let text = format!("{flows} TCP connections from h{src} to h{dst} are more than there are ports for");
        return Err(TestbedError::Unsuitable(text));
    }
    for host in job.active_hosts() {
        if let Err(what) = plan::first_window(&job.kernels_from(host)) {
            let text = format!("h{host} opens {what}: the kernel has one setting for a host");
            return Err(TestbedError::Unsuitable(text));
        }
    }
    let stacks = || job.stacks.iter().flatten();
    if stacks().any(|k| k.mptcp) && !std::path::Path::new("/proc/sys/net/mptcp/enabled").exists() {
        return Err(TestbedError::Missing("multipath TCP: the kernel has none (CONFIG_MPTCP)".into()));
    }
    let wanted: BTreeSet<&str> = stacks().map(|k| k.congestion).collect();
    for name in wanted {
        // Read for each name, because asking for one before may have loaded another.
        let found = listed_controls();
        // To ask for a control is what loads its module.
        if found.iter().any(|n| n == name)
            || (socket::has_control(name) && listed_controls().iter().any(|n| n == name))
        {
            continue;
        }
        return Err(TestbedError::Missing(lacking_control(name, &found)));
    }
    Ok(())
}

fn listed_controls() -> Vec<String> {
    let text = std::fs::read_to_string(CONTROLS).unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

fn lacking_control(name: &str, found: &[String]) -> String {
    let help = match OURS.contains(&name) {
        true => format!("`headway kernel load {name}` provides it"),
        false => format!("`modprobe tcp_{name}` loads it where the kernel has it as a module"),
    };
    format!("the kernel's congestion control `{name}`: this kernel has {}; {help}", found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_control_is_one_sentence_with_what_there_is_and_what_to_do() {
        let found = ["reno".to_string(), "cubic".to_string()];
        assert_eq!(
            lacking_control("l2dct", &found),
            "the kernel's congestion control `l2dct`: this kernel has reno, cubic; `headway kernel load l2dct` provides it"
        );
        assert!(lacking_control("vegas", &found).ends_with("`headway kernel load vegas` provides it"));
        assert!(
            lacking_control("bbr", &found)
                .ends_with("`modprobe tcp_bbr` loads it where the kernel has it as a module")
        );
    }
}
