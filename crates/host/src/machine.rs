//! A transport machine by name, and what it is told of paths.

use crate::config::Config;
use crate::error::ConfigError;
use headway_packet::{HostId, Sizes};
use headway_params::Params;
use headway_transport::endpoint::{Around, Checked};
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

    /// Says what the path to `host` is.
    pub(crate) fn set(&self, host: HostId, path: Path) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let place = host.0 as usize;
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
            seed: 0,
            path: Box::new(move |peer| paths.get(peer)),
        };
        let made = registry::visit(&config.transport, Make { config, context });
        let (machine, discipline) =
            made.ok_or_else(|| ConfigError::UnknownTransport(config.transport.clone()))??;
        Ok((Machine(Checked::new(machine)), discipline))
    }
}

type Made = (Box<dyn Endpoint + Send>, &'static str);

struct Make<'a> {
    config: &'a Config,
    context: HostContext,
}

impl TransportVisitor for Make<'_> {
    type Output = Result<Made, ConfigError>;

    fn visit<T: Transport>(self) -> Self::Output {
        if T::CAPABILITIES.shared_clock && self.config.origin_ns.is_none() {
            return Err(ConfigError::NeedsSharedClock(T::INFO.name));
        }
        if T::CAPABILITIES.telemetry > 0 && !self.config.telemetry {
            return Err(ConfigError::NeedsTelemetry(T::INFO.name));
        }
        let mut params = T::Params::default();
        for (name, value) in &self.config.params {
            let fail = |source| ConfigError::Transport { name: T::INFO.name.into(), source };
            params.set(name, value.clone()).map_err(fail)?;
        }
        Ok((Box::new(T::endpoint(&params, self.context)), T::INFO.discipline))
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
