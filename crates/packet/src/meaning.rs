//! What `token` and `remaining` hold, kind by kind: the table behind the dissector and its page.
//!
//! The header does not say which transport it is of. Where the kind and the flags decide, everybody can tell; where
//! the transport does, a reader has to know it, and nothing is claimed before.

use crate::{PacketFlags, PacketKind};

/// What one field holds in some packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The field.
    pub field: &'static str,
    /// In packets of these kinds,
    pub kinds: &'static [PacketKind],
    /// that have these flags,
    pub flags: PacketFlags,
    /// of this family of transports; `None` where it is the same for all.
    pub family: Option<&'static str>,
    /// it holds this, with its unit.
    pub doc: &'static str,
}

/// Families of transports that a reader can choose from.
pub const FAMILIES: &[&str] = &["AMRT, RPO, pHost", "TCP", "RCP", "MPTCP", "ProactMP", "ExpressPass"];

const NONE: PacketFlags = PacketFlags(0);

const fn meaning(
    field: &'static str,
    kinds: &'static [PacketKind],
    flags: PacketFlags,
    family: Option<&'static str>,
    doc: &'static str,
) -> Meaning {
    Meaning { field, kinds, flags, family, doc }
}

use PacketKind::{Ack, Credit, Data, Grant, Nack, Probe, Pull, Resend, Rts, Token};

/// Every meaning; of those that fit a packet the first counts.
pub const MEANINGS: &[Meaning] = &[
    meaning("token", &[Data, Rts, Probe], PacketFlags::RATE, None, "rate in kb/s, which ports may lower"),
    meaning(
        "remaining",
        &[Data, Rts, Probe],
        PacketFlags::RATE,
        None,
        "the sender's round trip in ns, 0 = none known",
    ),
    meaning("token", &[Grant, Ack, Nack], PacketFlags::PULL, None, "packets permitted in all"),
    meaning("remaining", &[Grant], PacketFlags::PULL, None, "class of the newest permitted packets"),
    meaning("token", &[Token], NONE, None, "number of the permission"),
    meaning("remaining", &[Token], NONE, None, "packets still to be received"),
    meaning("token", &[Credit], NONE, None, "number of the credit"),
    meaning("remaining", &[Resend], NONE, None, "class"),
    meaning("token", &[Data], NONE, Some("AMRT, RPO, pHost"), "number of the authorisation used"),
    meaning("token", &[Ack], NONE, Some("TCP"), "third SACK block"),
    meaning("remaining", &[Ack], NONE, Some("TCP"), "receive window in packets"),
    meaning("token", &[Ack], NONE, Some("RCP"), "third SACK block"),
    meaning("remaining", &[Ack], NONE, Some("RCP"), "rate in kb/s that the packet answered brought"),
    meaning("token", &[Data], NONE, Some("MPTCP"), "number in the subflow"),
    meaning("remaining", &[Data, Rts], NONE, Some("MPTCP"), "subflow"),
    meaning("token", &[Rts], NONE, Some("MPTCP"), "1 in the third packet of a join"),
    meaning("token", &[Ack], NONE, Some("MPTCP"), "first packet of the subflow that has not arrived"),
    meaning(
        "remaining",
        &[Ack],
        NONE,
        Some("MPTCP"),
        "subflow, in the highest 8 bits, and receive window in packets",
    ),
    meaning(
        "token",
        &[Data, Rts],
        NONE,
        Some("ProactMP"),
        "subflow, and above 16 bits how many the sender allows",
    ),
    meaning(
        "remaining",
        &[Data, Rts],
        NONE,
        Some("ProactMP"),
        "the sender's longest smoothed round trip in ns",
    ),
    meaning("remaining", &[Grant], NONE, Some("ProactMP"), "subflow and subflows allowed"),
    meaning("remaining", &[Pull], NONE, Some("ProactMP"), "subflow that is asked for"),
    meaning("token", &[Rts], NONE, Some("ExpressPass"), "number of the request"),
    meaning("remaining", &[Rts], NONE, Some("ExpressPass"), "packets to be sent"),
    meaning("token", &[Data], NONE, Some("ExpressPass"), "number of the credit used"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WIRE_FIELDS;

    #[test]
    fn every_meaning_is_of_a_field_and_of_a_family_that_can_be_chosen() {
        for (place, one) in MEANINGS.iter().enumerate() {
            assert!(WIRE_FIELDS.iter().any(|field| field.name == one.field));
            assert!(one.family.is_none_or(|family| FAMILIES.contains(&family)));
            let hides = |before: &&Meaning| {
                let same = before.field == one.field && one.flags.has(before.flags);
                same && before.family.is_none_or(|f| Some(f) == one.family)
                    && before.kinds.iter().any(|kind| one.kinds.contains(kind))
            };
            assert_eq!(MEANINGS[..place].iter().find(hides), None, "{one:?} can never count");
        }
    }
}
