//! A transport machine by name, and its knowledge of paths.

use crate::config::Config;
use crate::error::ConfigError;
use headway_packet::{HostId, Sizes};
use headway_params::ParamValue;
use headway_transport::endpoint::{Around, Capabilities, Checked, TransportInfo};
use headway_transport::registry::{self, TransportVisitor};
use headway_transport::{Endpoint, HostContext, Path, Transport};
use std::sync::{Arc, Mutex, PoisonError};

/// Paths to peers by their numbers in the machine; machines ask for them when a message begins.
#[derive(Clone)]
pub(crate) struct PathTable {
    default: Path,
    paths: Arc<Mutex<Vec<Path>>>,
}

impl PathTable {
    pub(crate) fn new(default: Path) -> PathTable {
        PathTable { default, paths: Arc::default() }
    }

    /// Sets the properties of the path to `host`.
    pub(crate) fn set_path(&self, host: HostId, path: Path) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let place = host.0 as usize;
        // Grows to the largest number only; numbers of peers are places in a slab, and so are small.
        if paths.len() <= place {
            paths.resize(place + 1, self.default);
        }
        paths[place] = path;
    }

    pub(crate) fn get(&self, host: HostId) -> Path {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.get(host.0 as usize).copied().unwrap_or(self.default)
    }
}

/// The machine of a transport whose name is known only at run time.
pub(crate) struct Machine(Checked<Box<dyn Endpoint + Send>>);

impl Machine {
    /// The machine that `config` names, and the port discipline that its transport is meant to run over.
    pub(crate) fn new(
        config: &Config,
        host: HostId,
        sizes: Sizes,
        paths: &PathTable,
    ) -> Result<(Machine, &'static str), ConfigError> {
        let paths = paths.clone();
        let context = HostContext {
            host,
            nic: config.rate(),
            sizes,
            // Real hosts need no repeatable choices, and peers must not be able to tell seeds apart.
            seed: 0,
            path: Box::new(move |peer| paths.get(peer)),
        };
        let unknown = || ConfigError::UnknownTransport(config.transport.clone());
        let (info, capabilities) =
            registry::visit_transport(&config.transport, Declared).ok_or_else(unknown)?;
        if capabilities.shared_clock && config.origin_ns.is_none() {
            return Err(ConfigError::NeedsSharedClock(info.name));
        }
        if capabilities.telemetry > 0 && !config.telemetry {
            return Err(ConfigError::NeedsTelemetry(info.name));
        }
        // Subflows take different paths only where paths have numbers. A user who sets `paths` sets this, too.
        let has_manager = registry::find_entry(&config.transport)
            .is_some_and(|found| found.params.iter().any(|param| param.name == "path_manager"));
        let mut params = config.params.clone();
        if has_manager && config.path_to.is_none() && params.iter().all(|(name, _)| name != "path_manager") {
            params.push(("path_manager".into(), ParamValue::Choice("full-mesh".into())));
        }
        let fail = |source| ConfigError::Transport { name: info.name.into(), source };
        let made = registry::make_machine(&config.transport, &params, context).ok_or_else(unknown)?;
        Ok((Machine(Checked::new(made.map_err(fail)?)), info.discipline))
    }
}

/// Reads the declarations of a transport.
struct Declared;

impl TransportVisitor for Declared {
    type Output = (TransportInfo, Capabilities);

    fn visit_transport<T: Transport>(self) -> Self::Output {
        (T::INFO, T::CAPABILITIES)
    }
}

impl Around for Machine {
    type Inner = Checked<Box<dyn Endpoint + Send>>;
    fn inner(&self) -> &Self::Inner {
        &self.0
    }
    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut self.0
    }
}
