//! Reading answers every text with a scenario or a diagnostic, never with a panic.

use crate::common;

use common::{LEAF_SPINE, SMALL, fixtures};
use headway_lab::Request;
use headway_lab::import::{cm, csv};
use headway_lab::text::{Source, overrides, quantity};
use headway_lab::workload::{Cdf, Interpolation};
use headway_units::Time;
use proptest::prelude::*;

/// Reads a text as far as flows; whatever is wrong must also render.
fn read(text: &str, sets: &[String]) {
    let mut sets = sets.to_vec();
    // Text at random may ask for billions of flows, and is to be refused before it makes them.
    sets.push("memory_limit=64 MB".into());
    let request = Request::text(text, "scenario.toml", &fixtures(), &sets, None);
    let flows = request.load().and_then(|s| {
        s.points()?;
        s.setup()?.resolve(s.seed)
    });
    if let Err(error) = flows {
        assert!(!error.render().is_empty());
    }
}

/// Pieces that scenarios are made of, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("[topology]\n".into()),
        Just("[[traffic]]\n".into()),
        Just("[transport]\n".into()),
        Just("[sweep]\n".into()),
        Just("[variants.a]\n".into()),
        Just("kind = \"dumbbell\"\n".into()),
        Just("kind = \"fat-tree\"\nk = 4\n".into()),
        Just("kind = \"poisson\"\n".into()),
        Just("flows = [{ src = 0, dst = 1, bytes = 1 }]\n".into()),
        Just("\"traffic.0.load\" = [0.1, nan]\n".into()),
        ("[a-z_]{1,12}", "[-0-9.]{1,8}|\"[ -~]{0,12}\"|true|\\[\\]|\\{\\}")
            .prop_map(|(k, v)| format!("{k} = {v}\n")),
        ("(senders|receivers|hosts|racks|spines|k|seed)", any::<i64>())
            .prop_map(|(k, v)| format!("{k} = {v}\n")),
        ("(rate|delay|stop|bytes)", "-?[0-9]{1,5}(\\.[0-9]{1,3})? ?(Gbps|us|ms|MB|x)")
            .prop_map(|(k, v)| format!("{k} = \"{v}\"\n")),
    ]
}

/// One edit of a valid scenario: a position, the number of characters to delete there, and the text to insert.
fn edit() -> impl Strategy<Value = (usize, usize, String)> {
    (0usize..1000, 0usize..12, "[ -~\n]{0,8}")
}

fn edited(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut out: Vec<char> = text.chars().collect();
    for (at, less, more) in edits {
        let at = at % (out.len() + 1);
        let end = (at + less).min(out.len());
        out.splice(at..end, more.chars());
    }
    out.into_iter().collect()
}

proptest! {
    #![proptest_config(headway_testing::cases!(400))]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        read(&text, &[]);
        let _ = quantity::parse_quantity(&text);
        let source = Source::new("x", text.as_str());
        let _ = cm::parse(&source, Time::ps(1));
        let _ = csv::parse(&source);
        let _ = Cdf::parse(&source, Interpolation::Linear);
        if let Ok(change) = overrides::argument(&text) {
            let _ = change.node.value.to_toml();
        }
    }

    #[test]
    fn any_pieces(pieces in prop::collection::vec(piece(), 0..14)) {
        read(&pieces.concat(), &[]);
    }

    #[test]
    fn any_edit_of_a_right_scenario(edits in prop::collection::vec(edit(), 1..4)) {
        read(&edited(SMALL, &edits), &[]);
        read(&edited(&LEAF_SPINE.replace("LOAD", "flows = 10"), &edits), &[]);
    }

    #[test]
    fn any_override(path in "[a-z.0-9]{0,24}|traffic\\.[0-9]\\.[a-z]{1,8}|topology\\.[a-z]{1,8}", value in "\\PC{0,16}") {
        read(SMALL, &[format!("{path}={value}")]);
    }

    #[test]
    fn any_table_of_sizes(rows in prop::collection::vec((0u64..2000, 0u32..=100), 0..8)) {
        let text: String = rows.iter().map(|(b, c)| format!("{b},{}\n", f64::from(*c) / 100.0)).collect();
        let source = Source::new("x", format!("bytes,cdf\n{text}"));
        for rule in [Interpolation::Linear, Interpolation::Step] {
            let Ok(cdf) = Cdf::parse(&source, rule) else { continue };
            let (min, max) = cdf.range();
            let mut last = 0;
            for u in [1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
                let size = cdf.quantile(u);
                prop_assert!(size >= last && size >= min.max(1) && size <= max.max(1), "{size} at {u}");
                last = size;
            }
        }
    }

    /// A value that is written as an override is read as the same value.
    #[test]
    fn overrides_read_back(text in "\\PC{0,24}", number in any::<i64>(), float in -1e9f64..1e9) {
        use headway_lab::text::Value;
        for value in [Value::Text(text), Value::Int(number), Value::Float(float), Value::Bool(true)] {
            let argument = format!("a.b={}", value.to_toml());
            let read = overrides::argument(&argument).expect("an override");
            prop_assert_eq!(read.node.value, value);
        }
    }
}
