//! Labels of the transports of a run.

use crate::fabric::param_json;
use crate::traffic::Kernel;
use headway_network::TransportSpec;
use serde_json::Value as Json;

/// Labels of the transports of a run in its results: their names, and where several have one name, with the
/// parameters that each of them sets, as in `dctcp(g=0.25)`. The kernel's are called by their controls, as in
/// `kernel-cubic`, in the simulator as well.
pub(super) fn labels(transports: &[TransportSpec], stacks: &[Option<Kernel>]) -> Vec<String> {
    let stack = |number: usize| stacks.get(number).copied().flatten();
    let label = |(number, one): (usize, &TransportSpec)| {
        if let Some(kernel) = stack(number) {
            return kernel.label();
        }
        let named =
            |(number, other): &(usize, &TransportSpec)| other.name == one.name && stack(*number).is_none();
        // Transports of the kernel do not count: their labels have names of their own.
        let alone = transports.iter().enumerate().filter(named).count() == 1;
        if alone || one.params.is_empty() {
            return one.name.clone();
        }
        let show = |value: Json| value.as_str().map_or(value.to_string(), str::to_string);
        let set: Vec<String> =
            one.params.iter().map(|(key, value)| format!("{key}={}", show(param_json(value)))).collect();
        format!("{}({})", one.name, set.join(","))
    };
    transports.iter().enumerate().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_params::ParamValue;

    #[test]
    fn transports_of_one_name_are_told_apart_by_what_they_set() {
        let named = |name: &str, params: &[(&str, ParamValue)]| {
            let params = params.iter().map(|(key, value)| (key.to_string(), value.clone()));
            TransportSpec::new(name, params.collect())
        };
        let preset = ParamValue::Choice("linux-4.19".into());
        let two = [named("dctcp", &[("preset", preset.clone())]), named("cubic", &[])];
        assert_eq!(labels(&two, &[]), ["dctcp", "cubic"]);
        let three = [two[0].clone(), named("dctcp", &[]), named("dctcp", &[("g", ParamValue::Float(0.25))])];
        assert_eq!(labels(&three, &[]), ["dctcp(preset=linux-4.19)", "dctcp", "dctcp(g=0.25)"]);
    }

    #[test]
    fn the_kernels_are_called_by_their_controls_and_leave_headways_their_names() {
        let spec = |name: &str| TransportSpec::new(name, Vec::new());
        let kernel = |congestion, mptcp| Some(Kernel { congestion, mptcp, ecn: false, initial_window: None });
        let transports = ["cubic", "cubic", "tcp", "mptcp-cubic"].map(spec);
        let stacks = [None, kernel("cubic", false), kernel("reno", false), kernel("cubic", true)];
        let found = labels(&transports, &stacks);
        assert_eq!(found, ["cubic", "kernel-cubic", "kernel-reno", "kernel-mptcp-cubic"]);
    }
}
