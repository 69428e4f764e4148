//! Properties of the reader of connection matrices on any text. The fuzz target and the test that
//! replays the corpus run this same function.

use headway_lab::import::{ImportedFlow, cm};
use headway_lab::text::Source;
use headway_network::FlowSpec;
use headway_transport::InitialWindow;
use headway_units::Time;

/// Panics when a text is neither read nor refused at a line of it, or does not survive being written.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let source = Source::new("flows.cm", text);
    let flows = match cm::parse(&source, Time::ps(1)) {
        Ok(matrix) => matrix.flows,
        Err(error) => {
            let at = error.origin().expect("a place");
            assert!(at.span.end <= text.len());
            return assert!(error.render().contains("flows.cm"));
        }
    };
    let Some(specs) = flows.iter().map(spec).collect::<Option<Vec<_>>>() else { return };
    let written = cm::write(u32::MAX, &specs);
    let again = cm::parse(&Source::new("again.cm", written), Time::ps(1)).expect("what was written").flows;
    let key = |f: &ImportedFlow| (f.src, f.dst, f.bytes, f.start);
    assert!(flows.iter().map(key).eq(again.iter().map(key)));
}

/// A flow between hosts that can be numbered.
fn spec(flow: &ImportedFlow) -> Option<FlowSpec> {
    let host = |n: u64| u32::try_from(n).ok().filter(|n| *n < u32::MAX);
    Some(FlowSpec {
        src: host(flow.src)?,
        dst: host(flow.dst)?,
        bytes: flow.bytes,
        start: flow.start,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    })
}
