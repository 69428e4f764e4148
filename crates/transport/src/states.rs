//! States and legal transitions, declared as data.
//!
//! The documentation's pictures and the full state x event tables come from these declarations.

use std::fmt::Write;

/// A declared state machine.
#[derive(Clone, Copy, Debug)]
pub struct StateTable {
    /// Subject of the table, such as `sender message`.
    pub name: &'static str,
    /// State names, the initial one first.
    pub states: &'static [&'static str],
    /// Names of the events, one for each column.
    pub events: &'static [&'static str],
    /// Legal transitions: (from, event, to).
    pub transitions: &'static [(&'static str, &'static str, &'static str)],
}

impl StateTable {
    /// The full state x event table in Markdown; a dash where the event has no effect.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("| {} |", self.name);
        for event in self.events {
            // Writing to a `String` cannot fail.
            let _ = write!(out, " {event} |");
        }
        out.push_str("\n|---|");
        out.push_str(&"---|".repeat(self.events.len()));
        out.push('\n');
        for state in self.states {
            let _ = write!(out, "| **{state}** |");
            for event in self.events {
                let to = self.transitions.iter().find(|t| t.0 == *state && t.1 == *event);
                let _ = write!(out, " {} |", to.map_or("-", |t| t.2));
            }
            out.push('\n');
        }
        out
    }

    /// The machine as a Mermaid state diagram.
    pub fn to_mermaid(&self) -> String {
        let mut out = format!("stateDiagram-v2\n    [*] --> {}\n", self.states[0]);
        for (from, event, to) in self.transitions {
            let _ = writeln!(out, "    {from} --> {to}: {event}");
        }
        out
    }
}

/// Declares a state enum, an event enum, the transitions between them and their [`StateTable`].
///
/// `state.on(event)` returns the next state, or `None` where the declaration has no transition; `state.step(event)`
/// goes there, or stays.
#[macro_export]
macro_rules! state_machine {
    (
        $(#[$meta:meta])* $name:literal $vis:vis enum $state:ident on $event:ident {
            $($from:ident { $($ev:ident => $to:ident),* $(,)? })+
        }
        events { $($event_name:ident),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $state { $(#[doc = stringify!($from)] $from),+ }
        #[doc = concat!("Events of [`", stringify!($state), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $event { $(#[doc = stringify!($event_name)] $event_name),+ }
        impl $state {
            /// The declaration as data.
            $vis const TABLE: $crate::states::StateTable = $crate::states::StateTable {
                name: $name,
                states: &[$(stringify!($from)),+],
                events: &[$(stringify!($event_name)),+],
                transitions: &[$($((stringify!($from), stringify!($ev), stringify!($to)),)*)+],
            };
            /// The next state, if the event has an effect here.
            // A table that covers every pair leaves nothing for the last arm.
            #[allow(unreachable_patterns)]
            $vis fn on(self, event: $event) -> Option<$state> {
                match (self, event) {
                    $($(($state::$from, $event::$ev) => Some($state::$to),)*)+
                    _ => None,
                }
            }
            /// Goes to the next state, or stays where the event has no effect.
            #[inline]
            $vis fn step(&mut self, event: $event) {
                if let Some(next) = self.on(event) {
                    *self = next;
                }
            }
        }
    };
}
