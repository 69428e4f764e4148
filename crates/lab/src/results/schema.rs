//! Schema of results, declared once: every column, every number of the summary and every gauge, with its unit, label,
//! meaning and quantity. Each list is where its values are made; here they are together. The native module hands them
//! to Python, and the tables of docs/results.md are written from them.

pub use super::columns::{EDGES, FLOWS, LINKS, METRICS, SERIES, STEPS};
pub use super::field::{Field, Number, Quantity};
pub use super::jobs::{JOBS, Job, OfJob, OfRounds, ROUNDS, Rounds};
pub use super::made::Made;
pub use super::measures::{GAUGE_PARTS, OfGauges, OfTrips, ROUND_TRIPS};
pub use super::summary::{Of, SUMMARY};
use crate::traffic::kernel_gauges;
use serde_json::{Map, Value as Json, json};

/// A gauge, with its owners.
#[derive(Clone, Debug)]
pub struct GaugeField {
    /// Declaration of the gauge.
    pub field: Field,
    /// The transports and disciplines that declare it.
    pub owners: Vec<&'static str>,
}

impl GaugeField {
    /// Description, with the transports or disciplines that report it.
    pub fn doc(&self) -> String {
        let owners: Vec<String> = self.owners.iter().map(|owner| format!("`{owner}`")).collect();
        format!("{}: {}", owners.join(", "), self.field.doc)
    }
}

/// Measurements of machines and of the rules of switch ports, as transports and disciplines declare them, and those of
/// a kernel's TCP.
pub fn gauges() -> Vec<GaugeField> {
    let transports = headway_transport::registry::all_entries();
    let machines = transports.iter().map(|entry| (entry.info.name, entry.gauges));
    let kernel = std::iter::once(("stack = \"kernel\"", kernel_gauges::ALL));
    let mut found: Vec<GaugeField> = Vec::new();
    for (owner, infos) in machines.chain(headway_fabric::registry::GAUGES.iter().copied()).chain(kernel) {
        for info in infos {
            // Transports share gauges, which have one declaration, as a test below checks.
            match found.iter_mut().find(|gauge| gauge.field.name == info.name) {
                Some(gauge) => gauge.owners.push(owner),
                None => found.push(GaugeField { field: Field::gauge(info), owners: vec![owner] }),
            }
        }
    }
    found
}

/// Probes of machines for each flow while a run goes on, as transports declare them.
pub fn probes() -> Vec<GaugeField> {
    let mut found: Vec<GaugeField> = Vec::new();
    for entry in headway_transport::registry::all_entries() {
        for info in entry.probes {
            match found.iter_mut().find(|probe| probe.field.name == info.name) {
                Some(probe) => probe.owners.push(entry.info.name),
                None => found.push(GaugeField { field: Field::gauge(info), owners: vec![entry.info.name] }),
            }
        }
    }
    found
}

/// A declaration as JSON. `scope` names the subject of a number of the summary, `shown` whether reports show it there.
fn one(field: &Field, doc: &str, scope: &str, shown: bool) -> Json {
    json!({ "name": field.name, "unit": field.unit, "label": field.label, "doc": doc,
        "quantity": field.quantity.name(), "least": field.least, "scope": scope, "shown": shown })
}

/// Columns, which are not in the summary.
fn columns(fields: &[Field]) -> Json {
    fields.iter().map(|field| one(field, field.doc, "run", false)).collect()
}

fn numbers<F>(numbers: &[Number<F>], scope: impl Fn(&F) -> &'static str) -> Json {
    numbers.iter().map(|n| one(&n.field, n.field.doc, scope(&n.of), n.shown)).collect()
}

/// All of it, as JSON: for each list its declarations in their order.
pub fn schema() -> Json {
    let scope = |of: &Of| match of {
        Of::Times(_) | Of::Counted(_) | Of::Ended(_) | Of::Bounds | Of::Flows(_) => "flows",
        Of::Arrivals(_) => "arrivals",
        Of::Run(_) | Of::Mixture(_) | Of::Entries(_) => "run",
        Of::Transport(_) => "transport",
    };
    let gauges = gauges().iter().map(|gauge| one(&gauge.field, &gauge.doc(), "run", false)).collect();
    let probes = probes().iter().map(|probe| one(&probe.field, &probe.doc(), "run", false)).collect();
    let lists = [
        ("flows", columns(FLOWS)),
        ("links", columns(LINKS)),
        ("series", columns(SERIES)),
        ("steps", columns(STEPS)),
        ("edges", columns(EDGES)),
        ("metrics", columns(METRICS)),
        ("summary", numbers(SUMMARY, scope)),
        ("jobs", numbers(JOBS, |_| "run")),
        ("rounds", numbers(ROUNDS, |_| "run")),
        ("round_trips", numbers(ROUND_TRIPS, |_| "run")),
        ("gauges", gauges),
        ("gauge_parts", numbers(GAUGE_PARTS, |_| "run")),
        ("probes", probes),
    ];
    Json::Object(lists.map(|(name, list)| (name.to_string(), list)).into_iter().collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::Quantity::{Bytes, Count, Rate, Time};
    use super::*;
    use headway_fabric::DropReason;
    use std::collections::BTreeSet;

    /// Every declaration, with the list that it is in.
    fn every() -> Vec<(&'static str, Field)> {
        let mut found = Vec::new();
        let columns = [
            ("flows", FLOWS),
            ("links", LINKS),
            ("series", SERIES),
            ("steps", STEPS),
            ("edges", EDGES),
            ("metrics", METRICS),
        ];
        for (list, fields) in columns {
            found.extend(fields.iter().map(|field| (list, *field)));
        }
        found.extend(SUMMARY.iter().map(|number| ("summary", number.field)));
        found.extend(JOBS.iter().map(|number| ("jobs", number.field)));
        found.extend(ROUNDS.iter().map(|number| ("rounds", number.field)));
        found.extend(ROUND_TRIPS.iter().map(|number| ("round_trips", number.field)));
        found.extend(gauges().iter().map(|gauge| ("gauges", gauge.field)));
        found.extend(probes().iter().map(|probe| ("probes", probe.field)));
        found.extend(GAUGE_PARTS.iter().map(|number| ("gauge_parts", number.field)));
        found
    }

    #[test]
    fn a_probe_has_the_unit_that_its_transport_declares() {
        for entry in headway_transport::registry::all_entries() {
            for info in entry.probes {
                assert_eq!(Field::gauge(info).unit, info.unit.name(), "{}", info.name);
            }
        }
    }

    #[test]
    fn every_list_declares_each_name_once_with_a_label_and_a_sentence() {
        let all = every();
        let names: BTreeSet<_> = all.iter().map(|(list, field)| (list, field.name)).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|(_, f)| !f.label.is_empty() && !f.doc.is_empty()));
        let lists: BTreeSet<_> = all.iter().map(|(list, _)| list.to_string()).collect();
        let written: BTreeSet<_> = schema().as_object().expect("lists").keys().cloned().collect();
        assert_eq!(lists, written);
    }

    #[test]
    fn every_reason_to_drop_has_a_column_after_the_sum() {
        let at = LINKS.iter().position(|field| field.name == "drops").expect("drops");
        for (reason, field) in DropReason::ALL.iter().zip(&LINKS[at + 1..]) {
            assert_eq!(field.name, format!("drops_{}", reason.name()));
        }
        assert_eq!(LINKS[at + 1 + DropReason::ALL.len()].name, "returned");
    }

    #[test]
    fn gauges_of_one_name_are_declared_alike_and_have_a_label_and_a_sentence() {
        let all = gauges();
        let declared = headway_transport::registry::all_entries().into_iter().flat_map(|entry| entry.gauges);
        for info in declared.chain(headway_fabric::registry::GAUGES.iter().flat_map(|(_, infos)| *infos)) {
            assert!(!info.label.is_empty() && !info.doc.is_empty(), "{}", info.name);
            let field = Field::gauge(info);
            let found = all.iter().find(|gauge| gauge.field.name == info.name).expect("collected");
            let parts = |f: &Field| (f.label, f.doc, f.unit);
            assert_eq!(parts(&found.field), parts(&field), "{}", info.name);
        }
    }

    #[test]
    fn names_end_in_the_unit_that_they_declare() {
        for (_, field) in every() {
            let ends = [("_s", Time), ("_bytes", Bytes), ("_bps", Rate), ("_packets", Count)];
            for (end, quantity) in ends {
                assert!(!field.name.ends_with(end) || field.quantity == quantity, "{}", field.name);
            }
            assert!(field.quantity != Time || field.name.ends_with("_s"), "{}", field.name);
        }
    }
}
