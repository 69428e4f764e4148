//! The congestion controls.

use crate::error::KernelError;
use crate::params::{D2tcpParams, L2dctParams, ShareParams, VegasParams};
use crate::settings::Settings;
use headway_params::names;
use headway_params::quantity::{self, Dimension};
use headway_params::{ParamKind, ParamSpec, ParamValue, Params};
use headway_units::Time;

/// A congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Control {
    /// DCTCP with weights: young connections grow faster and back off less than old ones
    L2dct,
    /// The window is cut by half the share of packets that are marked
    Dctcp,
    /// DCTCP with deadlines: the nearer one is, the gentler the cut
    D2tcp,
    /// Without marks: the window holds a few packets in the queue, counted from the round trip
    Vegas,
}

impl Control {
    /// All controls.
    pub const ALL: [Control; 4] = [Control::L2dct, Control::Dctcp, Control::D2tcp, Control::Vegas];

    /// Name of the control.
    pub fn name(self) -> &'static str {
        match self {
            Control::L2dct => "l2dct",
            Control::Dctcp => "dctcp",
            Control::D2tcp => "d2tcp",
            Control::Vegas => "vegas",
        }
    }

    /// The compiled program.
    pub fn compiled_object(self) -> &'static [u8] {
        match self {
            Control::L2dct => include_bytes!("../bpf/objects/l2dct.bpf.o"),
            Control::Dctcp => include_bytes!("../bpf/objects/dctcp.bpf.o"),
            Control::D2tcp => include_bytes!("../bpf/objects/d2tcp.bpf.o"),
            Control::Vegas => include_bytes!("../bpf/objects/vegas.bpf.o"),
        }
    }

    /// Parameters of the control.
    pub fn param_specs(self) -> Vec<ParamSpec> {
        match self {
            Control::L2dct => L2dctParams::specs(),
            Control::Dctcp => ShareParams::specs(),
            Control::D2tcp => D2tcpParams::specs(),
            Control::Vegas => VegasParams::specs(),
        }
    }

    /// Settings of the kernel's program, with `name=value` texts set.
    pub fn parse_settings(self, sets: &[String]) -> Result<Settings, KernelError> {
        match self {
            Control::L2dct => Settings::for_l2dct(&self.read_params(sets)?),
            Control::Dctcp => Settings::for_dctcp(&self.read_params(sets)?),
            Control::D2tcp => Settings::for_d2tcp(&self.read_params(sets)?),
            Control::Vegas => Ok(Settings::for_vegas(&self.read_params(sets)?)),
        }
    }

    fn read_params<P: Params>(self, sets: &[String]) -> Result<P, KernelError> {
        let (mut params, specs) = (P::default(), P::specs());
        for text in sets {
            let (name, value) = text.split_once('=').ok_or_else(|| KernelError::NoValue(text.clone()))?;
            let (name, value) = (name.trim(), value.trim());
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                let near = names::nearest_name(name, specs.iter().map(|spec| spec.name));
                let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                return Err(KernelError::NoSuchParameter { name: name.into(), control: self.name(), hint });
            };
            let value = parse_value(spec, value).ok_or_else(|| KernelError::BadValue {
                text: text.clone(),
                reason: format!("`{name}` takes {}", spec.kind.expected_form()),
            })?;
            params.set(name, value).map_err(|error| KernelError::bad_value(text, &error))?;
        }
        Ok(params)
    }
}

/// A value as it is written on the command line; `None` if it is of another kind.
fn parse_value(spec: &ParamSpec, text: &str) -> Option<ParamValue> {
    let quantity = |wanted| {
        quantity::parse_quantity(text.trim_matches('"'))
            .ok()
            .filter(|q| q.dimension == wanted)
            .map(|q| q.amount)
    };
    match spec.kind {
        ParamKind::Bool => text.parse().ok().map(ParamValue::Bool),
        ParamKind::Int { .. } => text.parse().ok().map(ParamValue::Int),
        ParamKind::Float { .. } => text.parse().ok().map(ParamValue::Float),
        ParamKind::Bytes { .. } => {
            text.parse().ok().or_else(|| quantity(Dimension::Bytes)).map(ParamValue::Int)
        }
        // 0 needs no unit, as in scenarios.
        ParamKind::Length { .. } if text == "0" => Some(ParamValue::Int(0)),
        ParamKind::Length { .. } => quantity(Dimension::Bytes).map(ParamValue::Int),
        ParamKind::Time { .. } => quantity(Dimension::Time).map(Time).map(ParamValue::Time),
        ParamKind::Choice(_) => Some(ParamValue::Choice(text.into())),
        // No control has a parameter of this kind.
        ParamKind::Rate { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_set_is_refused_in_a_sentence() {
        let said = |control: Control, text: &str| match control.parse_settings(&[text.into()]) {
            Ok(_) => panic!("{text} is taken"),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(Control::L2dct, "young"), "--set young: write it as name=value");
        assert_eq!(
            said(Control::L2dct, "yuong=1"),
            "--set yuong: l2dct has no such parameter; did you mean young?"
        );
        assert_eq!(said(Control::Dctcp, "w_max=1"), "--set w_max: dctcp has no such parameter");
        assert_eq!(
            said(Control::L2dct, "weights=srpt"),
            "--set weights=srpt: `weights` takes one of las, ps, fixed"
        );
        assert_eq!(
            said(Control::Dctcp, "g=0.3"),
            "--set g=0.3: the kernel divides by powers of two: 1, 0.5, 0.25, 0.125, 0.0625 ... 0.0009765625"
        );
        assert_eq!(said(Control::Vegas, "g=0.5"), "--set g: vegas has no such parameter");
        assert_eq!(
            said(Control::Vegas, "beta=10001"),
            "--set beta=10001: `beta` takes a whole number from 0 to 10000"
        );
        assert_eq!(
            said(Control::L2dct, "w_min=3"),
            "--set w_min=3: the smallest weight is larger than the largest, w_max=2.5"
        );
        assert_eq!(
            said(Control::L2dct, "young=5000000"),
            "--set old=1000000: a connection begins to be old, at young=5000000, before it has ended to be young"
        );
        assert!(said(Control::L2dct, "weight=2").contains("with weights=fixed alone"));
        assert!(said(Control::D2tcp, "deadline=20").contains("a duration with a unit"));
        assert!(said(Control::D2tcp, "d_max=NaN").contains("a number from 1 to 2.5"));
    }

    #[test]
    fn values_are_written_as_in_scenarios() {
        let sets = ["young=100 MB", "old=100000001", "slow_start=false"].map(String::from);
        let set = Control::L2dct.parse_settings(&sets).expect("good");
        assert_eq!((set.young, set.old, set.slow_start), (100_000_000, 100_000_001, 0));
        let set =
            Control::D2tcp.parse_settings(&["deadline=40 ms".into(), "bytes=1MB".into()]).expect("good");
        assert_eq!((set.deadline_us, set.bytes), (40_000, 1_000_000));
        let set = Control::Vegas.parse_settings(&["gamma=3".into(), "alpha=1".into()]).expect("good");
        assert_eq!(set.queued, [1, 4, 3]);
    }
}
