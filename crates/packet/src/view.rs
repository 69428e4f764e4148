//! Typed views of packets: the content of the header's fields in the packets of one protocol, kind by kind.
//!
//! A protocol declares its packets once, with [`packets!`](crate::packets). A machine reads and makes packets by the
//! names of the declaration, and the dissector and its page are written from the same. A view is a few moves between
//! registers: it costs nothing at run time.

use crate::{Packet, PacketFlags, PacketKind};
use std::fmt::Debug;

/// One field of a view, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewField {
    /// Name in the protocol.
    pub name: &'static str,
    /// The field of [`Packet`] that holds it.
    pub field: &'static str,
    /// Meaning with its unit; begins with a space, as a doc comment does.
    pub doc: &'static str,
}

/// The packets of one kind of a protocol, as data.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Kind of packets that the view is of.
    pub kind: PacketKind,
    /// Flags that all of them have.
    pub flags: PacketFlags,
    /// Meaning of the fields; a field that is not listed is zero.
    pub fields: &'static [ViewField],
    /// The packet that results when its view is written into an empty one.
    pub rewritten: fn(&Packet) -> Packet,
    /// True if the view of a packet equals that of its rewritten one.
    pub comes_back: fn(&Packet) -> bool,
}

/// The packets of a protocol: transports that are variants of one machine share them.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The protocol, for a reader of captures.
    pub name: &'static str,
    /// One view a kind.
    pub views: &'static [View],
}

impl Family {
    /// The view of packets of a kind, if the protocol has any.
    pub fn view_of(&self, kind: PacketKind) -> Option<&'static View> {
        self.views.iter().find(|view| view.kind == kind)
    }
}

/// Meaning of a packet's fields for one protocol.
pub trait TypedView: Copy + Debug + PartialEq + 'static {
    /// The declaration as data.
    const VIEW: View;
    /// Takes the fields out of a packet.
    fn from_packet(packet: &Packet) -> Self;
    /// Puts the fields into a packet, whose addresses, sizes and flags stay as they are.
    fn write_to(self, packet: &mut Packet);

    /// `packet`, a fresh one of this kind, with these fields.
    #[inline(always)]
    #[must_use]
    fn put_on(self, mut packet: Packet) -> Packet {
        self.write_to(&mut packet);
        packet
    }
}

/// An empty packet of the kind of `packet`, with the view of it.
pub fn rewrite_packet<V: TypedView>(packet: &Packet) -> Packet {
    V::from_packet(packet).put_on(Packet::new(packet.kind, packet.src, packet.dst, packet.message))
}

/// True if a packet's view survives rewriting: see [`View::comes_back`].
pub fn comes_back<V: TypedView>(packet: &Packet) -> bool {
    V::from_packet(&rewrite_packet::<V>(packet)) == V::from_packet(packet)
}

/// Declares the packets of a protocol: for each kind a struct with the fields of its packets, and the place in
/// [`Packet`] where each stands. A type other than the field's converts from it and into it.
///
/// ```
/// use headway_packet::{HostId, Packet, PacketKind, TypedView};
///
/// headway_packet::packets! {
///     /// Packets of a protocol.
///     pub const PACKETS = "Mine" {
///         /// Permission for packets.
///         Grant {
///             /// First packet permitted.
///             first: u32 = index,
///             /// Packets permitted.
///             permitted: u32 = count,
///         }
///     }
/// }
/// let grant = Grant { first: 7, permitted: 2 }.put_on(Packet::new(PacketKind::Grant, HostId(1), HostId(0), 0));
/// assert_eq!((grant.index, grant.count), (7, 2));
/// assert_eq!(Grant::from_packet(&grant).first, 7);
/// assert_eq!(PACKETS.views[0].fields[1].field, "count");
/// ```
#[macro_export]
macro_rules! packets {
    (
        $(#[$meta:meta])* $vis:vis const $all:ident = $family:literal {
            $($(#[$about:meta])* $kind:ident $(with $flag:ident)? {
                $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $field:ident),* $(,)?
            })+
        }
    ) => {
        $(#[$meta])*
        $vis const $all: $crate::Family = $crate::Family {
            name: $family,
            views: &[$(<$kind as $crate::TypedView>::VIEW),+],
        };
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[allow(dead_code, reason = "the declaration says all that packets hold")]
            $vis struct $kind { $($(#[doc = $doc])+ $vis $name: $type),* }

            impl $crate::TypedView for $kind {
                const VIEW: $crate::View = $crate::View {
                    kind: $crate::PacketKind::$kind,
                    flags: $crate::PacketFlags(0 $(| $crate::PacketFlags::$flag.0)?),
                    fields: &[$($crate::ViewField {
                        name: stringify!($name),
                        field: stringify!($field),
                        doc: concat!($($doc),+),
                    }),*],
                    // As pointers: tests meet views as data, without their types.
                    rewritten: $crate::rewrite_packet::<$kind>,
                    comes_back: $crate::comes_back::<$kind>,
                };
                #[inline(always)]
                fn from_packet(packet: &$crate::Packet) -> Self {
                    // A view without fields reads nothing.
                    let _ = packet;
                    $kind { $($name: packet.$field.into()),* }
                }
                #[inline(always)]
                fn write_to(self, packet: &mut $crate::Packet) {
                    // In a packet of another kind the fields would mean something else.
                    debug_assert_eq!(packet.kind, $crate::PacketKind::$kind);
                    $(packet.$field = self.$name.into();)*
                }
            }
        )+
    };
}
