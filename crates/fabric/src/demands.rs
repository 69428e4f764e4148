//! What a discipline declares of itself: what it does to packets and what it needs of whoever drives it; and the check
//! that it is offered.
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

            /// In words, as lists and messages say it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

declared! {
    /// What a discipline writes into packets.
    Rewrite {
        /// ECN bits: `packet.ecn`.
        Mark = "marks",
        /// A lower rate in packets that carry one: `packet.token`.
        Rate = "rate",
        /// What is left of a data packet without its payload.
        Trim = "payload",
        /// Addresses exchanged: a header goes back to its sender.
        Return = "addresses",
    }
}

declared! {
    /// What a discipline needs beside queues and a rate.
    Need {
        /// The network's base round trip, unless its parameters set one (`Discipline::own_round_trip`).
        RoundTrip = "round trip",
        /// Packets may be held back although the wire is free.
        Shaping = "shaping",
        /// A packet that waits may be thrown out in favour of another.
        Displacement = "displacement",
    }
}

/// What a discipline declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it writes into packets.
    pub rewrites: &'static [Rewrite],
    /// What it needs of whoever drives it.
    pub needs: &'static [Need],
}

/// What a driver can do.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// Who, as messages say it.
    pub driver: &'static str,
    /// What ports may write into packets.
    pub rewrites: &'static [Rewrite],
    /// What ports may need.
    pub needs: &'static [Need],
}

/// A discipline wants what its driver does not offer.
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
    /// The discipline needs what its driver does not have.
    #[error("it needs {}, which {driver} does not have", what.name())]
    Need {
        /// The need that the driver does not meet.
        what: Need,
        /// The driver of the ports, for messages.
        driver: &'static str,
    },
}

impl Offers {
    /// Whether a discipline gets all that it wants here.
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
