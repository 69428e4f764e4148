//! Counters of an endpoint, by name.

use headway_params::names;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "the names are the counters' own")]
        pub enum Count { $($(#[doc = $doc])+ $name,)+ }

        /// Counters of an endpoint since it was bound.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats { $($(#[doc = $doc])+ pub $name: u64,)+ }

        impl Count {
            /// Every counter of an endpoint.
            pub const ALL: &[Count] = &[$(Count::$name),+];

            /// Name of the counter in results.
            pub fn name(self) -> &'static str {
                match self { $(Count::$name => stringify!($name)),+ }
            }

            /// The counter of this name.
            ///
            /// # Errors
            /// There is none; the text says which one was perhaps meant.
            pub fn find(name: &str) -> Result<Count, String> {
                let found = Count::ALL.iter().find(|count| count.name() == name).copied();
                found.ok_or_else(|| {
                    let near = names::name_suggestion(name, Count::ALL.iter().map(|count| count.name()));
                    format!("there is no counter `{name}`{}", near.map_or(String::new(), |near| format!(": {near}")))
                })
            }

            /// Meaning of the counter, in a sentence.
            pub fn help(self) -> &'static str {
                match self { $(Count::$name => concat!($($doc),+).trim_ascii()),+ }
            }
        }

        impl Counters {
            /// All counters at one moment, more or less.
            pub fn read(&self) -> Stats {
                Stats { $($name: self.get(Count::$name)),+ }
            }
        }

        impl Stats {
            /// Names and values, for tables.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }

            /// The counter's value.
            pub fn get(&self, what: Count) -> u64 {
                match what { $(Count::$name => self.$name),+ }
            }
        }
    };
}

counters! {
    /// Datagrams that arrived.
    datagrams_received,
    /// Datagrams handed to the kernel.
    datagrams_sent,
    /// Their bytes, headers of IP and UDP not counted.
    bytes_received,
    /// Their bytes, headers of IP and UDP not counted.
    bytes_sent,
    /// Datagrams that the kernel refused to send; they count as lost.
    send_errors,
    /// Datagrams that left without their type-of-service byte, because the kernel refuses it: no switch can mark them.
    marks_refused,
    /// Rows of datagrams that the kernel refused to cut up, and took one by one.
    rows_refused,
    /// Packets accepted and given to the transport.
    packets_accepted,
    /// Data packets that arrived with a mark.
    marks_received,
    /// Messages acknowledged by their receiver.
    messages_sent,
    /// Messages received whole.
    messages_received,
    /// Messages given up: refused, stalled, or without their peer.
    messages_failed,
    /// Key exchanges begun: one for each meeting with a host that has shown its address and a shared key.
    key_exchanges,
    /// Times the keys of a session were renewed.
    keys_renewed,
    /// Times a peer was found to be a new incarnation.
    peer_restarts,
    /// Peers given up because they were silent, or because the kernel refuses to send to them.
    peers_lost,
    /// Peers given up because no message to them made progress.
    peers_stalled,
    /// Messages that failed alone, without progress while others to the same peer progressed.
    messages_stalled,
    /// Times a path to a peer began to carry packets, where one end has several addresses.
    paths_opened,
    /// Times one was given up, because no answer came or the kernel refused to send there.
    paths_died,
    /// New lists of a peer's addresses that were not believed, because too many came.
    address_lists_withheld,
    /// Peers forgotten to make room for others.
    peers_evicted,
    /// Handshakes answered by a refusal: another version, transport or MTU.
    handshakes_refused,
    /// Dropped: longer than any datagram of this endpoint's.
    dropped_truncated,
    /// Dropped: neither a packet nor a handshake.
    dropped_malformed,
    /// Dropped: from an address that is not admitted.
    dropped_not_admitted,
    /// Dropped: a handshake that does not authenticate, or answers nothing that was asked.
    dropped_handshake,
    /// Dropped: a cookie that this endpoint did not give, or gave before it or its peer restarted.
    dropped_cookie,
    /// Dropped: of an incarnation of its sender that has not been met, or with which no keys were exchanged yet, or is over.
    dropped_unknown_epoch,
    /// Dropped: a number that arrived before, or is too old to tell.
    dropped_replayed,
    /// Dropped: the seal is broken, or missing.
    dropped_forged,
    /// Dropped: sizes, positions or counts that no message has.
    dropped_inconsistent,
    /// Dropped: of a message larger than any allowed here.
    dropped_oversized,
    /// Dropped: of a message for which there is no memory.
    dropped_no_memory,
    /// Dropped: of one message too many from one peer.
    dropped_too_many,
    /// Dropped: about a message that is over.
    dropped_late,
    /// Dropped: a new peer while all places are taken.
    dropped_no_place,
    /// Answers to wrong cookies that were not sent, because too many were.
    answers_withheld,
}

impl Stats {
    /// All counters in the text format of Prometheus (version 0.0.4), each as `headway_<name>_total` with `labels`,
    /// such as `[("endpoint", "10.0.0.2:18519")]`. A program's own page of metrics may contain it as it is.
    ///
    /// Labels are the caller's: their names must be those that Prometheus allows, and their values may be any text.
    pub fn prometheus(&self, labels: &[(&str, &str)]) -> String {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape_label(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let mut text = String::new();
        for &count in Count::ALL {
            let (name, help, value) = (count.name(), count.help(), self.get(count));
            text += &format!("# HELP headway_{name}_total {help}\n# TYPE headway_{name}_total counter\n");
            text += &format!("headway_{name}_total{labels} {value}\n");
        }
        text
    }
}

/// The value of a label, as the format wants it.
fn escape_label(value: &str) -> String {
    // The backslash first, or it would escape those of the other two.
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Counters that other threads may read while one writes: the one that drives the endpoint, and holds its lock. So an
/// addition needs no locked instruction, of which there would be several for each packet.
#[derive(Debug)]
pub struct Counters([AtomicU64; Count::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Counters([const { AtomicU64::new(0) }; Count::ALL.len()])
    }
}

impl Counters {
    /// Adds one to a counter.
    pub fn one(&self, what: Count) {
        self.add(what, 1);
    }

    /// Adds `n` to a counter.
    pub fn add(&self, what: Count, n: u64) {
        let counter = &self.0[what as usize];
        // Not `fetch_add`: only the thread with the driver's lock writes, and the lock orders one writer after
        // the other.
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The value of one.
    pub fn get(&self, what: Count) -> u64 {
        self.0[what as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_gets_every_counter_with_its_labels() {
        let counters = Counters::default();
        counters.add(Count::messages_sent, 3);
        let text = counters.read().prometheus(&[("host", "a\"b\\c\nd"), ("port", "7")]);
        assert_eq!(text.lines().count(), 3 * Count::ALL.len());
        let expected = concat!(
            "# HELP headway_messages_sent_total Messages acknowledged by their receiver.\n",
            "# TYPE headway_messages_sent_total counter\n",
            "headway_messages_sent_total{host=\"a\\\"b\\\\c\\nd\",port=\"7\"} 3\n",
        );
        assert!(text.contains(expected), "{text}");
        assert!(Stats::default().prometheus(&[]).contains("\nheadway_send_errors_total 0\n"));
    }
}
