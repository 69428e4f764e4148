//! Messages of Protobuf, as structs with the few fields that somebody reads or writes.

/// True if a field has the default of its type.
#[doc(hidden)]
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares messages: each field has its type, and after it how it is encoded and its number, as `.proto` files have them.
///
/// The derive of `prost` does the same, and three of the largest crates that a simulator would need are compiled for it.
#[macro_export]
macro_rules! protobuf_messages {
    ($($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty = $($how:ident)+ [$tag:literal],)+
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, Default)]
        $vis struct $name {
            $($(#[$doc])* $field_vis $field: $type,)+
        }

        impl ::prost::Message for $name {
            fn encode_raw(&self, out: &mut impl ::prost::bytes::BufMut) {
                $($crate::protobuf_messages!(@encode $($how)+, $tag, self.$field, out);)+
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire: ::prost::encoding::WireType,
                bytes: &mut impl ::prost::bytes::Buf,
                context: ::prost::encoding::DecodeContext,
            ) -> ::std::result::Result<(), ::prost::DecodeError> {
                match tag {
                    $($tag => $crate::protobuf_messages!(@merge $($how)+, wire, self.$field, bytes, context),)+
                    // Newer writers have fields that this declaration does not need.
                    _ => ::prost::encoding::skip_field(wire, tag, bytes, context),
                }
            }

            fn encoded_len(&self) -> usize {
                0 $(+ $crate::protobuf_messages!(@length $($how)+, $tag, self.$field))+
            }

            fn clear(&mut self) {
                *self = $name::default();
            }
        }
    )+};
    (@encode repeated $kind:ident, $tag:literal, $value:expr, $out:ident) => {
        ::prost::encoding::$kind::encode_repeated($tag, &$value, $out)
    };
    (@encode optional $kind:ident, $tag:literal, $value:expr, $out:ident) => {
        if let Some(value) = &$value {
            ::prost::encoding::$kind::encode($tag, value, $out);
        }
    };
    // A field with the default of its type is not written.
    (@encode $kind:ident, $tag:literal, $value:expr, $out:ident) => {
        if !$crate::is_default(&$value) {
            ::prost::encoding::$kind::encode($tag, &$value, $out);
        }
    };
    (@merge repeated $kind:ident, $wire:ident, $value:expr, $bytes:ident, $context:ident) => {
        ::prost::encoding::$kind::merge_repeated($wire, &mut $value, $bytes, $context)
    };
    (@merge optional $kind:ident, $wire:ident, $value:expr, $bytes:ident, $context:ident) => {
        ::prost::encoding::$kind::merge($wire, $value.get_or_insert_default(), $bytes, $context)
    };
    (@merge $kind:ident, $wire:ident, $value:expr, $bytes:ident, $context:ident) => {
        ::prost::encoding::$kind::merge($wire, &mut $value, $bytes, $context)
    };
    (@length repeated $kind:ident, $tag:literal, $value:expr) => {
        ::prost::encoding::$kind::encoded_len_repeated($tag, &$value)
    };
    (@length optional $kind:ident, $tag:literal, $value:expr) => {
        $value.as_ref().map_or(0, |value| ::prost::encoding::$kind::encoded_len($tag, value))
    };
    (@length $kind:ident, $tag:literal, $value:expr) => {
        if $crate::is_default(&$value) { 0 } else { ::prost::encoding::$kind::encoded_len($tag, &$value) }
    };
}
