//! Engines that are compiled for the machines of one transport: builds that are optimised have them (`build.rs`).

use super::{Running, only};
use crate::conductor::Watch;
use headway_network::{Network, RunError, RunSpec, TransportSpec};
use headway_params::Params;
use headway_transport::Transport;
use headway_transport::registry::{self, TransportVisitor};
use std::sync::Arc;

/// A run that is ready to begin, or why it cannot.
type Ready<'a> = Result<Box<dyn Running + 'a>, RunError>;

/// A run whose hosts all have machines of one transport, on the engine that is compiled for them; `None` where there is
/// no such engine.
pub(super) fn ready<'a>(
    spec: &'a RunSpec,
    network: &Arc<Network>,
    transport: &'a TransportSpec,
    watch: &Watch<'_>,
) -> Result<Option<Ready<'a>>, RunError> {
    let visited = registry::visit(&transport.name, Single { spec, network, transport, watch });
    visited.ok_or_else(|| RunError::UnknownTransport(transport.name.clone()))
}

struct Single<'a, 'w, 'v> {
    spec: &'a RunSpec,
    network: &'w Arc<Network>,
    transport: &'a TransportSpec,
    watch: &'w Watch<'v>,
}

impl<'a> TransportVisitor for Single<'a, '_, '_> {
    type Output = Option<Ready<'a>>;

    fn visit<T: Transport>(self) -> Self::Output {
        if const { has_engine(T::INFO.name) } {
            return Some(self.on_its_own::<T>());
        }
        None
    }
}

impl<'a> Single<'a, '_, '_> {
    fn on_its_own<T: Transport>(self) -> Ready<'a> {
        let params = parameters::<T>(self.transport)?;
        let context = |host| self.network.host_context(host, self.spec.seed);
        let endpoints = (0..self.network.hosts()).map(|host| T::endpoint(&params, context(host))).collect();
        super::ready(self.spec, Arc::clone(self.network), endpoints, self.watch, only)
    }
}

/// Parameters of a transport, with what the specification sets.
fn parameters<T: Transport>(spec: &TransportSpec) -> Result<T::Params, RunError> {
    let mut params = T::Params::default();
    for (name, value) in &spec.params {
        let fail = |source| RunError::Param { transport: spec.name.clone(), source };
        params.set(name, value.clone()).map_err(fail)?;
    }
    Ok(params)
}

/// Whether an optimised build has an engine for the machines of a transport: all have one, or those that
/// `HEADWAY_ENGINES=name,name` lists where it is built.
const fn has_engine(name: &str) -> bool {
    let Some(listed) = option_env!("HEADWAY_ENGINES") else { return true };
    let (listed, name) = (listed.as_bytes(), name.as_bytes());
    let (mut at, mut same) = (0, 0);
    // `same` counts how much of the name stands in this part of the list; a part that is another's has too much.
    while at < listed.len() {
        same = match listed[at] {
            b',' if same == name.len() => return true,
            b',' => 0,
            byte if same < name.len() && byte == name[same] => same + 1,
            _ => usize::MAX / 2,
        };
        at += 1;
    }
    same == name.len()
}
