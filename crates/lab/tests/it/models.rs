//! Promises of every closed-form model, over the list of them.

use crate::common::good;
use headway_lab::model::{KINDS, Kind, ModelError, Value, evaluate, stored};
use proptest::prelude::*;

fn scenario(kind: &Kind) -> String {
    let info = &kind.info;
    format!("[model]\nname = \"{}\"\n{}\n[report]\nfigure = \"model\"\n", info.name, info.example)
}

#[test]
fn each_has_an_example_that_is_read_stored_and_read_again() {
    for kind in KINDS {
        let resolved = good(&scenario(kind), &[]).resolved_json()["model"].clone();
        let table = resolved.as_object().expect("a table");
        for key in kind.info.keys {
            assert!(
                table.contains_key(key.name),
                "{}: `{}` is declared and not stored",
                kind.info.name,
                key.name
            );
        }
        let again = stored("results", &resolved).expect("what was stored");
        assert_eq!(again.to_json(), resolved, "{}", kind.info.name);
    }
}

#[test]
fn each_draws_finite_curves_within_its_fixed_axes() {
    for kind in KINDS {
        let resolved = good(&scenario(kind), &[]).resolved_json()["model"].clone();
        let picture =
            stored("results", &resolved).expect("read").model.draw().expect("an example is in range");
        assert!(!picture.panels.is_empty() && !picture.caption.contains('{'), "{}", picture.caption);
        for curve in picture.panels.iter().flat_map(|panel| &panel.curves) {
            assert!(
                curve.x.len() == curve.y.len() && curve.x.len() > 1,
                "{}: {}",
                kind.info.name,
                curve.name
            );
            assert!(
                curve.x.iter().chain(&curve.y).all(|v| v.is_finite()),
                "{}: {}",
                kind.info.name,
                curve.name
            );
            assert!(curve.x.windows(2).all(|two| two[0] <= two[1]), "{}: {}", kind.info.name, curve.name);
        }
    }
}

#[test]
fn functions_have_names_of_their_own_and_say_what_they_take() {
    let all: Vec<_> = KINDS.iter().flat_map(|kind| kind.info.functions).collect();
    for function in &all {
        assert_eq!(all.iter().filter(|other| other.name == function.name).count(), 1, "{}", function.name);
        assert!(function.doc.ends_with('.') && !function.arguments.is_empty(), "{}", function.name);
        let count = ModelError::Count { function: function.name, arguments: function.arguments.join(", ") };
        assert_eq!(evaluate(function.name, &[]), Err(count));
    }
    assert_eq!(evaluate("no such", &[]), Err(ModelError::Function("no such".into())));
}

fn value() -> impl Strategy<Value = Value> {
    // Any `f64` is nearly always out of range; small whole numbers and shares get further.
    let number = || prop_oneof![any::<f64>(), (0u32..40).prop_map(f64::from), 0.0..1.0f64];
    let words = prop::sample::select(vec!["ps", "las", "u_gain", "t_min", "period", "colour"]);
    prop_oneof![
        4 => number().prop_map(Value::Number),
        2 => prop::collection::vec(number(), 0..6).prop_map(Value::Numbers),
        2 => words.prop_map(|word| Value::Word(word.into())),
    ]
}

proptest! {
    #![proptest_config(headway_testing::cases!(256))]

    /// Whatever an expression gives a function: an answer or an error, and no panic.
    #[test]
    fn functions_answer_or_refuse(values in prop::collection::vec(value(), 6)) {
        for function in KINDS.iter().flat_map(|kind| kind.info.functions) {
            let _ = evaluate(function.name, &values[..function.arguments.len()]);
        }
    }
}
