//! Properties of the reader of flow tables (CSV) on any text. The fuzz target and the test that replays the
//! corpus run this same function.

use headway_lab::import::{ImportedFlow, csv};
use headway_lab::text::Source;
use headway_network::FlowSpec;
use headway_transport::InitialWindow;

/// Panics when a text is neither read nor refused at a place of it, or does not survive being written.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let flows = match csv::parse(&Source::new("flows.csv", text)) {
        Ok(table) => table.flows,
        Err(error) => {
            let at = error.origin().expect("a place");
            assert!(at.span.end <= text.len());
            return assert!(error.render().contains("flows.csv"));
        }
    };
    assert!(!flows.is_empty());
    for flow in &flows {
        let places = &flow.places;
        let given = [
            flow.path.as_ref().map(|given| &given.at),
            flow.share.as_ref().map(|given| &given.at),
            flow.transport.as_ref().map(|given| &given.at),
        ];
        let always = [&places.row, &places.src, &places.dst, &places.bytes];
        for place in always.into_iter().chain(given.into_iter().flatten()) {
            assert!(text.get(place.clone()).is_some_and(|part| !part.is_empty()), "{place:?}");
        }
    }
    let Some(specs) = flows.iter().map(spec).collect::<Option<Vec<_>>>() else { return };
    let written = csv::write(flows.iter().map(|flow| flow.id.as_str()).zip(&specs));
    let written = written.expect("a name that was read from a table fits into one");
    let again = csv::parse(&Source::new("again.csv", written)).expect("what was written").flows;
    // A class that is not given is written as the class that it is.
    let key = |f: &ImportedFlow| {
        (f.id.clone(), f.src, f.dst, f.bytes, f.start, f.class.unwrap_or_default(), f.deadline)
    };
    assert!(flows.iter().map(key).eq(again.iter().map(key)));
}

/// A flow between hosts that can be numbered, with a deadline that can be counted from zero.
fn spec(flow: &ImportedFlow) -> Option<FlowSpec> {
    let host = |n: u64| u32::try_from(n).ok();
    let deadline = match flow.deadline {
        Some(after) => Some(headway_units::Time(flow.start.0.checked_add(after.0)?)),
        None => None,
    };
    Some(FlowSpec {
        src: host(flow.src)?,
        dst: host(flow.dst)?,
        bytes: flow.bytes,
        start: flow.start,
        class: flow.class.unwrap_or_default(),
        deadline,
        initial_window: InitialWindow::default(),
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    })
}
