//! One table for both: the settings of the kernel's programs are computed by the machine of the lab.

use headway_kernel::Control;
use headway_kernel::params::L2dctParams;
use headway_kernel::settings::{PACKET, ROWS, Settings, UNIT, lab_params};
use headway_params::Params;
use headway_transport::tcp::control::l2dct::fixed_power;
use headway_transport::tcp::control::l2dct::weights::Weights;

/// The row that `bpf/l2dct.h` takes.
fn table_row(settings: &Settings, sent: u64) -> usize {
    if sent < settings.young {
        return ROWS - 1;
    }
    if sent >= settings.old {
        return 0;
    }
    let passed = (ROWS as u64 - 1) * (sent - settings.young) / (settings.old - settings.young);
    ROWS - 1 - passed as usize
}

#[test]
fn weights_and_powers_are_those_of_the_lab_for_every_byte_sent() {
    let cases: [&[&str]; 9] = [
        &[],
        // One byte apart: every weight in between has no room.
        &["young=100000000", "old=100000001"],
        &["weights=ps"],
        &["weights=fixed", "weight=0.5", "increase=0.2"],
        // 19 bytes for 19 steps from one row to the next.
        &["w_max=1", "w_min=0.25", "young=0", "old=19"],
        &["w_max=4"],
        &["w_min=0.0625"],
        &["weights=fixed", "weight=4"],
        &["weights=fixed", "weight=0.3"],
    ];
    for sets in cases {
        let sets: Vec<String> = sets.iter().map(|&text| text.into()).collect();
        let settings = Control::L2dct.parse_settings(&sets).expect("good");
        let mut params = L2dctParams::default();
        for text in &sets {
            let (name, value) = text.split_once('=').expect("a value");
            // The kind that the parameter has is the one that `set` accepts.
            let wanted = [
                value.parse().map(headway_params::ParamValue::Int).ok(),
                value.parse().map(headway_params::ParamValue::Float).ok(),
                Some(headway_params::ParamValue::Choice(value.into())),
            ];
            assert!(wanted.into_iter().flatten().any(|value| params.set(name, value).is_ok()), "{text}");
        }
        let weights = Weights::new(&lab_params(&params));
        let near = |at: u64| (at.saturating_sub(3)..at.saturating_add(3)).collect::<Vec<_>>();
        let line = (0..=1200).map(|kb| kb * 1000);
        let ends = [settings.young, settings.old, 1 << 58].map(near);
        for sent in line.chain(ends.into_iter().flatten()) {
            let (row, weight) = (table_row(&settings, sent), weights.weight_for(sent, 0));
            let grown = weights.increase_per_round(weight) * f64::from(PACKET);
            assert!((f64::from(settings.increase[row]) - grown).abs() <= 0.5, "{sets:?} after {sent} B");
            // Both ends, the least that is not 0, just below a sixteenth, a sixteenth, and just below a half.
            for alpha in [0, 1, 15, 64, 511, UNIT] {
                let power = u32::from(settings.power[row][alpha as usize]);
                assert_eq!(power, fixed_power(weight, alpha), "{sets:?} after {sent} B, alpha {alpha}");
                let exact = (f64::from(alpha) / f64::from(UNIT)).powf(weight) * f64::from(UNIT);
                // Half a unit of rounding, and what `powf` itself is off by.
                assert!((f64::from(power) - exact).abs() < 0.501, "{sets:?}: {power}, not {exact}");
            }
        }
    }
}

#[test]
fn the_published_weights_are_exact_in_thousandths() {
    let settings = Control::L2dct.parse_settings(&[]).expect("good");
    let twentieths: Vec<u32> = (1..=20).map(|step| step * PACKET / 20).collect();
    assert_eq!(settings.increase.to_vec(), twentieths);
}

#[test]
fn an_increase_that_thousandths_cannot_tell_is_refused() {
    for sets in [
        ["weights=fixed", "weight=0.001"],
        ["w_min=0.001", "w_max=2.5"],
        ["weights=fixed", "increase=0.0016"],
    ] {
        let error =
            Control::L2dct.parse_settings(&sets.map(String::from)).expect_err("0.4 thousandths, or 1.6");
        assert!(error.to_string().contains("thousandths of a packet"), "{error}");
    }
}
