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
    /// Describe the rest of a data packet whose payload it cuts off: see [`Packet::trim_payload`].
    Cut,
    /// Set [`PacketFlags::BOUNCED`] as it returns such a header to its sender, and [`PacketFlags::LAST_HOP`] in front of its
    /// receiver.
    Flags,
    /// Fill in the next free stamp of a data packet: see [`crate::Stamps`].
    Stamp,
}

impl Mutable {
    /// The bits of a byte of the field that may change.
    pub(crate) const fn mutable_mask(self) -> u8 {
        match self {
            Mutable::Never => 0,
            Mutable::Rate | Mutable::Cut | Mutable::Stamp => 0xff,
            // The other flags are the sender's, and the seal covers them.
            Mutable::Flags => PacketFlags::BOUNCED.with(PacketFlags::LAST_HOP).0,
        }
    }
}

/// A number in network byte order. It is made of bytes, so that a struct of such numbers has no gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkOrder<const N: usize>([u8; N]);

pub(crate) type U16 = NetworkOrder<2>;
pub(crate) type U32 = NetworkOrder<4>;
pub(crate) type U64 = NetworkOrder<8>;

macro_rules! network_order {
    ($($bytes:literal $number:ty),+) => {$(
        impl NetworkOrder<$bytes> {
            pub(crate) fn get(self) -> $number {
                <$number>::from_be_bytes(self.0)
            }
        }

        impl From<$number> for NetworkOrder<$bytes> {
            fn from(number: $number) -> Self {
                NetworkOrder(number.to_be_bytes())
            }
        }
    )+};
}
network_order! { 2 u16, 4 u32, 8 u64 }

/// Type of a field on the wire: some bytes without alignment.
pub(crate) trait FieldBytes: Sized {
    /// Takes the field from the front of `bytes`, which then begin behind it.
    fn take_front(bytes: &mut &[u8]) -> Option<Self>;
    /// Writes the field to the front of `bytes`, which then begin behind it.
    fn put_front(&self, bytes: &mut &mut [u8]);
}

impl<const N: usize> FieldBytes for [u8; N] {
    fn take_front(bytes: &mut &[u8]) -> Option<Self> {
        let (field, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*field)
    }

    fn put_front(&self, bytes: &mut &mut [u8]) {
        if let Some((front, rest)) = std::mem::take(bytes).split_first_chunk_mut() {
            *front = *self;
            *bytes = rest;
        }
    }
}

impl<const N: usize> FieldBytes for NetworkOrder<N> {
    fn take_front(bytes: &mut &[u8]) -> Option<Self> {
        FieldBytes::take_front(bytes).map(NetworkOrder)
    }

    fn put_front(&self, bytes: &mut &mut [u8]) {
        self.0.put_front(bytes);
    }
}

impl FieldBytes for u8 {
    fn take_front(bytes: &mut &[u8]) -> Option<Self> {
        FieldBytes::take_front(bytes).map(|[byte]: [u8; 1]| byte)
    }

    fn put_front(&self, bytes: &mut &mut [u8]) {
        [*self].put_front(bytes);
    }
}

/// Declares the header and the table of its fields together.
///
/// `$name` is the struct as it lies in memory, `$table` every field in order and without gaps, `$start` the
/// byte of the packet at which they begin.
macro_rules! wire_fields {
    ($(#[$about:meta])* $table:ident of $name:ident from $start:expr;
     $($(#[values($values:expr)])? $(#[mutable($mutable:ident)])? $field:ident: $type:ty, $doc:literal;)+) => {
        // In the order of its declaration, which `offset_of!` then counts; every field is made of bytes, so it has no gaps.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type),+
        }

        impl $name {
            /// The fields at the front of `bytes`, and the bytes behind them.
            pub(crate) fn split_front(mut bytes: &[u8]) -> Option<($name, &[u8])> {
                let fields = $name { $($field: $crate::fields::FieldBytes::take_front(&mut bytes)?),+ };
                Some((fields, bytes))
            }

            /// The fields as they travel.
            pub(crate) fn to_bytes(self) -> [u8; size_of::<$name>()] {
                let mut bytes = [0; size_of::<$name>()];
                let mut rest = &mut bytes[..];
                $($crate::fields::FieldBytes::put_front(&self.$field, &mut rest);)+
                bytes
            }
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
