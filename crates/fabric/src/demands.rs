//! Declarations of a discipline: its changes to packets and its needs of a driver; and the check that a driver offers
//! them.
//!
//! A driver is the simulator, the switch of real packets, or a real host's own link. Each says once what it can
//! do ([`Offers`]); a discipline that wants something else is refused there, with its name and the thing.

macro_rules! declared {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $variant),+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Name in words, for lists and messages.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

declared! {
    /// Changes that a discipline makes to packets.
    Rewrite {
        /// ECN bits: `packet.ecn`.
        Mark = "marks",
        /// A lower rate in packets that carry one: `packet.token`.
        Rate = "rate",
        /// The payload of a data packet is cut off, so that its header is left.
        Trim = "payload",
        /// Addresses exchanged: a header goes back to its sender.
        Return = "addresses",
    }
}

declared! {
    /// Needs of a discipline beyond queues and a rate.
    Need {
        /// The network's base round trip, unless its parameters set one (`Discipline::own_round_trip`).
        RoundTrip = "round trip",
        /// Packets may be held back although the wire is free.
        Shaping = "shaping",
        /// A packet that waits may be thrown out in favour of another.
        Displacement = "displacement",
    }
}

/// Description of a discipline, as it declares itself.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Publication that describes the discipline.
    pub paper: &'static str,
    /// Changes that it makes to packets.
    pub rewrites: &'static [Rewrite],
    /// Needs that its driver has to fulfil.
    pub needs: &'static [Need],
}

/// Abilities of a driver.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// Name of the driver, for messages.
    pub driver: &'static str,
    /// Changes that ports may make to packets.
    pub rewrites: &'static [Rewrite],
    /// Needs that ports may have.
    pub needs: &'static [Need],
}

/// A discipline wants something that its driver does not offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unoffered {
    /// It writes something that would be lost.
    #[error("it rewrites {}, which {driver} cannot do", what.name())]
    Rewrite {
        /// The rewrite that the driver cannot do.
        what: Rewrite,
        /// The driver of the ports, for messages.
        driver: &'static str,
    },
    /// The discipline needs something that its driver does not have.
    #[error("it needs {}, which {driver} does not have", what.name())]
    Need {
        /// The need that the driver does not meet.
        what: Need,
        /// The driver of the ports, for messages.
        driver: &'static str,
    },
}

impl Offers {
    /// Returns an error if the discipline wants something that is not offered here.
    pub fn check(&self, info: &DisciplineInfo) -> Result<(), Unoffered> {
        let driver = self.driver;
        if let Some(&what) = info.rewrites.iter().find(|what| !self.rewrites.contains(what)) {
            return Err(Unoffered::Rewrite { what, driver });
        }
        match info.needs.iter().find(|what| !self.needs.contains(what)) {
            Some(&what) => Err(Unoffered::Need { what, driver }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn what_is_not_offered_is_named() {
        let (trimming, _) = registry::find("trimming").expect("it is there");
        let all = Offers { driver: "a driver", rewrites: Rewrite::ALL, needs: Need::ALL };
        assert_eq!(all.check(&trimming), Ok(()));
        let marks = Offers { rewrites: &[Rewrite::Mark], ..all };
        let refused = marks.check(&trimming).expect_err("it cuts");
        assert_eq!(refused.to_string(), "it rewrites payload, which a driver cannot do");
        let (rpo, _) = registry::find("cross-queue-ecn").expect("it is there");
        let refused = Offers { needs: &[Need::RoundTrip], ..all }.check(&rpo).expect_err("it displaces");
        assert_eq!(refused, Unoffered::Need { what: Need::Displacement, driver: "a driver" });
    }
}
