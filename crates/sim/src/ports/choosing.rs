//! Switches that choose among equal next hops when a packet arrives, by their state then.
//!
//! The state of a switch, the queues of its ports and the flowlets that cross it, belongs to the shard of the switch.

use super::Ports;
use headway_network::Routing;
use headway_units::Time;
use rustc_hash::FxHashMap;

/// See the module.
pub(crate) enum Choosing {
    /// The port with the least to send.
    LeastQueue { ports: Vec<u32>, least: Vec<u32> },
    /// The port of the packet before, unless that was long ago.
    Flowlets { ports: Vec<u32>, flowlets: Flowlets },
}

impl Choosing {
    pub(crate) fn new(routing: Routing) -> Option<Choosing> {
        match routing {
            Routing::LeastQueue => Some(Choosing::LeastQueue { ports: Vec::new(), least: Vec::new() }),
            Routing::Flowlet(gap) => {
                Some(Choosing::Flowlets { ports: Vec::new(), flowlets: Flowlets::new(gap) })
            }
            Routing::Ecmp | Routing::Spray | Routing::Pinned | Routing::Symmetric | Routing::Weighted => None,
        }
    }
}

/// A flow at a switch: the switch, the two hosts, and the entropy.
type Crossing = (u32, u32, u32, u32);

/// Flowlets that cross switches.
pub(crate) struct Flowlets {
    gap: Time,
    /// The port of each, and when its last packet came.
    last: FxHashMap<Crossing, (u32, Time)>,
    /// Number of flowlets that are kept before those that are over are forgotten.
    room: usize,
}

/// Flowlets that are kept before any is forgotten.
const ROOM: usize = 1024;

impl Flowlets {
    fn new(gap: Time) -> Flowlets {
        Flowlets { gap, last: FxHashMap::default(), room: ROOM }
    }

    /// The port of the flowlet that a packet continues at `now`.
    fn port_of(&self, crossing: Crossing, now: Time) -> Option<u32> {
        self.last.get(&crossing).filter(|(_, at)| now - *at < self.gap).map(|(port, _)| *port)
    }

    fn note(&mut self, crossing: Crossing, port: u32, now: Time) {
        if self.last.len() >= self.room {
            self.last.retain(|_, (_, at)| now - *at < self.gap);
            // Doubled, so that the sweeps take constant time for each flowlet.
            self.room = ROOM.max(2 * self.last.len());
        }
        self.last.insert(crossing, (port, now));
    }
}

impl Ports<'_> {
    /// The next port of a packet that has come over a link; `None` when there is none.
    pub(crate) fn choose(&mut self, link: u32, handle: u32, now: Time) -> Option<u32> {
        let switch = self.links.network.links()[link as usize].to - self.hosts;
        if self.choosing.is_none() {
            // It would have been chosen before, but for a lossless switch, which has to know where a packet comes from.
            return self.links.route_around(switch, handle, (link, now));
        }
        self.choose_at(switch, handle, (link, now))
    }

    /// The port by which a packet that came back from port `number` goes on; `None` without a route.
    #[cold]
    pub(crate) fn way_back(&mut self, number: u32, handle: u32, now: Time) -> Option<u32> {
        if self.choosing.is_none() {
            return self.links.way_back(number, handle, now);
        }
        let switch = self.links.network.links()[number as usize].from - self.hosts;
        let port = self.choose_at(switch, handle, (number, now));
        self.links.lost += u64::from(port.is_none());
        port
    }

    fn choose_at(&mut self, switch: u32, handle: u32, arrival: (u32, Time)) -> Option<u32> {
        // Taken out, so that ports can be brought up to date meanwhile.
        let mut choosing = self.choosing.take()?;
        let port = match &mut *choosing {
            Choosing::LeastQueue { ports, least } => {
                self.links.choices(switch, handle, arrival.1, ports);
                self.least_queue(switch, arrival, ports, least)
            }
            Choosing::Flowlets { ports, flowlets } => {
                self.links.choices(switch, handle, arrival.1, ports);
                self.flowlet((switch, handle), arrival, ports, flowlets)
            }
        };
        self.choosing = Some(choosing);
        port
    }

    /// The port where a packet would begin to leave first: the packets that wait there and are on the wire take the
    /// least time. Among several, any.
    fn least_queue(
        &mut self,
        switch: u32,
        arrival: (u32, Time),
        ports: &[u32],
        least: &mut Vec<u32>,
    ) -> Option<u32> {
        // Without bringing the port up to date, which would cost on every hop that has no choice.
        if let [only] = *ports {
            return Some(only);
        }
        let mut shortest = Time::MAX;
        least.clear();
        for &number in ports {
            // Ports are served late: only now is the length of its queue that of this instant.
            self.catch_up(number, arrival.1);
            let port = &self.egress[number as usize].port;
            let wire = port.free_at().saturating_sub(arrival.1);
            let wait = wire.saturating_add(port.context().rate.time_of(port.queue_bytes()));
            if wait < shortest {
                shortest = wait;
                least.clear();
            }
            if wait == shortest {
                least.push(number);
            }
        }
        let place = self.links.any_of(switch, least.len() as u32, arrival);
        least.get(place as usize).copied()
    }

    /// The port of the packet's flowlet, or of a new one any.
    fn flowlet(
        &mut self,
        (switch, handle): (u32, u32),
        arrival: (u32, Time),
        ports: &[u32],
        flowlets: &mut Flowlets,
    ) -> Option<u32> {
        if let [only] = *ports {
            return Some(only);
        }
        let packet = self.links.pool.get(handle);
        let crossing = (switch, packet.src.0, packet.dst.0, packet.entropy);
        // Its port may have gone down since, or no longer lead to the destination.
        let port =
            flowlets.port_of(crossing, arrival.1).filter(|port| ports.contains(port)).or_else(|| {
                // A hash of switch, link and time, so that the draw is the same for any number of threads.
                let place = self.links.any_of(switch, ports.len() as u32, arrival);
                ports.get(place as usize).copied()
            })?;
        flowlets.note(crossing, port, arrival.1);
        Some(port)
    }
}
