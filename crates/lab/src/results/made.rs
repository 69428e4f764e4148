//! A number as it is written, and which of those next to each other are bounds.

use super::open::{AT_LEAST, Found, OF_ENDED};
use serde_json::{Map, Value as Json, json};

/// The key under which numbers that are bounds are listed.
const BOUNDS: &str = "bounds";

/// A number as it is written, and what it is if it is not exact.
#[derive(Clone, Debug)]
pub struct Made {
    json: Json,
    bound: Option<&'static str>,
}

impl Made {
    /// A number of those that ended alone, where some of those that count are open.
    pub(super) fn of_ended(found: Option<f64>, some_open: bool) -> Made {
        Made { json: json!(found), bound: found.filter(|_| some_open).map(|_| OF_ENDED) }
    }

    /// The place of what says which numbers are bounds.
    pub(super) fn bounds() -> Made {
        Json::Null.into()
    }
}

impl From<Json> for Made {
    fn from(json: Json) -> Made {
        Made { json, bound: None }
    }
}

impl From<Option<Found>> for Made {
    fn from(found: Option<Found>) -> Made {
        let bound = found.filter(|found| found.at_least).map(|_| AT_LEAST);
        Made { json: json!(found.map(|found| found.value)), bound }
    }
}

/// Numbers by their names, and under `bounds` those of them that are bounds.
pub(super) fn with_bounds(numbers: impl Iterator<Item = (&'static str, Made)>) -> Map<String, Json> {
    let (mut made, mut bounds) = (Map::new(), Map::new());
    for (name, one) in numbers {
        if let Some(bound) = one.bound {
            bounds.insert(name.into(), bound.into());
        }
        made.insert(name.into(), one.json);
    }
    // Where it has a place of its own, it stays there.
    made.insert(BOUNDS.into(), bounds.into());
    made
}
