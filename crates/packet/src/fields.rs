//! Fields of what travels: declared once, as a struct in memory and as a table of places.

use crate::PacketFlags;

/// One field of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireField {
    /// Name, as in [`Packet`].
    pub name: &'static str,
    /// First bit, counted from the start of the packet.
    pub offset: usize,
    /// Width in bits.
    pub bits: usize,
    /// Meaning of the field, with its unit.
    pub doc: &'static str,
    /// Names of values, or of single bits where the field is a set of flags.
    pub values: &'static [(u64, &'static str)],
    /// Changes that a switch may make to it.
    pub mutable: Mutable,
}

/// Changes that a switch may make to a field on a packet's way. No seal covers it then, and a receiver believes it no
/// more than its doc says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutable {
    /// No change is allowed.
    Never,
    /// Write a lower rate, in packets that ask for one: [`PacketFlags::RATE`].
    Rate,
    /// Describe the rest of a data packet whose payload it cuts off: see [`Packet::trim`].
    Cut,
    /// Set [`PacketFlags::BOUNCED`] as it returns such a header to its sender, and [`PacketFlags::LAST_HOP`] in front of its
    /// receiver.
    Flags,
    /// Fill in the next free stamp of a data packet: see [`crate::Stamps`].
    Stamp,
}

impl Mutable {
    /// The bits of a byte of the field that may change.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Mutable::Never => 0,
            Mutable::Rate | Mutable::Cut | Mutable::Stamp => 0xff,
            // The other flags are the sender's, and the seal covers them.
            Mutable::Flags => PacketFlags::BOUNCED.with(PacketFlags::LAST_HOP).0,
        }
    }
}

/// Declares the header and the table of its fields together.
///
/// `$name` is the struct as it lies in memory, `$table` every field in order and without gaps, `$start` the
/// byte of the packet at which they begin.
macro_rules! wire_fields {
    ($(#[$about:meta])* $table:ident of $name:ident from $start:expr;
     $($(#[values($values:expr)])? $(#[mutable($mutable:ident)])? $field:ident: $type:ty, $doc:literal;)+) => {
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
        // Rust may reorder fields, and these have to lie as on the wire.
        #[repr(C)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type),+
        }

        $(#[$about])*
        pub const $table: &[$crate::fields::WireField] = &[$($crate::fields::WireField {
            name: stringify!($field),
            // From the struct itself, so that table and memory cannot differ.
            offset: ($start + offset_of!($name, $field)) * 8,
            bits: size_of::<$type>() * 8,
            doc: $doc,
            values: wire_fields!(@values $($values)?),
            mutable: wire_fields!(@mutable $($mutable)?),
        }),+];
    };
    (@mutable) => { $crate::fields::Mutable::Never };
    (@mutable $way:ident) => { $crate::fields::Mutable::$way };
    (@values) => { &[] };
    (@values $values:expr) => { $values };
}
pub(crate) use wire_fields;
