//! Messages between client and server, as messages of `headway-host` or frames on a TCP connection.
//!
//! A message begins with one byte that says its kind. Numbers are big-endian. A frame is a message behind
//! its length in four bytes.

use crate::usage::Usage;
use bytes::Bytes;

/// Bytes of the largest message, and of the largest request or reply.
pub const LARGEST: u32 = 32 << 20;
/// Bytes of an order's front: its kind, and a number.
pub const FRONT: usize = 9;

/// Message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Part of a bulk measurement; no answer.
    Data {
        /// Number that names the measurement.
        run: u64,
    },
    /// A measurement begins.
    Begin {
        /// Its name, drawn at random.
        run: u64,
    },
    /// A measurement ends.
    End {
        /// Number that names the measurement.
        run: u64,
    },
    /// Answer with so many bytes.
    Echo {
        /// Bytes of the reply.
        reply: u32,
        /// The low half of the name of the measurement that it is part of.
        run: u32,
    },
}

/// Message of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The measurement has begun.
    Begun,
    /// Too many others are under way.
    Busy,
    /// Bytes and messages of the measurement that arrived, and the processor time that they took.
    Totals(Totals),
    /// The reply to an echo.
    Echo,
    /// The message was not an order, or one of a measurement that is not under way.
    Unknown,
}

/// Counts of a server between begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of data.
    pub bytes: u64,
    /// Messages of data.
    pub messages: u64,
    /// Processor time of the whole server meanwhile.
    pub cpu: Usage,
    /// Other measurements at the same time, at most.
    pub others: u64,
}

impl Order {
    /// The order as a message of `length` bytes, which is at least 9, the order's own bytes.
    pub fn to_message(self, length: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(length.max(FRONT));
        let (kind, number) = match self {
            Order::Data { run } => (0, run),
            Order::Begin { run } => (1, run),
            Order::End { run } => (2, run),
            // The low half of the name is enough to keep a measurement alive; the number's place is shared with
            // the length.
            Order::Echo { reply, run } => (3, u64::from(run) << 32 | u64::from(reply)),
        };
        bytes.push(kind);
        bytes.extend(number.to_be_bytes());
        // Not zeros, which something on the way might compress or recognise.
        bytes.resize(length.max(FRONT), 0x5a);
        bytes.into()
    }

    /// `None` when it is none.
    pub fn from_message(message: &[u8]) -> Option<Order> {
        let (front, _) = message.split_first_chunk::<FRONT>()?;
        let (kind, number) = front.split_first()?;
        let run = u64::from_be_bytes(number.try_into().ok()?);
        match kind {
            0 => Some(Order::Data { run }),
            1 => Some(Order::Begin { run }),
            2 => Some(Order::End { run }),
            3 => Some(Order::Echo { reply: run as u32, run: (run >> 32) as u32 }),
            _ => None,
        }
    }
}

impl Answer {
    /// The answer as a message; an echo has `length` bytes.
    pub fn to_message(self, length: usize) -> Bytes {
        let kind = match self {
            Answer::Begun => 0x80,
            Answer::Busy => 0x81,
            Answer::Totals(_) => 0x82,
            Answer::Echo => 0x83,
            Answer::Unknown => 0x84,
        };
        let mut bytes = vec![kind];
        match self {
            Answer::Totals(t) => {
                let numbers = [t.bytes, t.messages, t.cpu.user_ns, t.cpu.system_ns, t.others];
                bytes.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
            }
            Answer::Echo => bytes.resize(length.max(1), 0xa5),
            _ => {}
        }
        bytes.into()
    }

    /// `None` when it is none.
    pub fn from_message(message: &[u8]) -> Option<Answer> {
        let (&kind, rest) = message.split_first()?;
        match (kind, rest.len()) {
            (0x80, 0) => Some(Answer::Begun),
            (0x81, 0) => Some(Answer::Busy),
            (0x82, 40) => {
                let number = |n: usize| rest[8 * n..].first_chunk().map(|b| u64::from_be_bytes(*b));
                let cpu = Usage { user_ns: number(2)?, system_ns: number(3)? };
                let (bytes, messages, others) = (number(0)?, number(1)?, number(4)?);
                Some(Answer::Totals(Totals { bytes, messages, cpu, others }))
            }
            (0x83, _) => Some(Answer::Echo),
            (0x84, 0) => Some(Answer::Unknown),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let run = 0x0102_0304_0506_0708;
        let echo = Order::Echo { reply: 7, run: u32::MAX };
        for order in [Order::Data { run }, Order::Begin { run }, Order::End { run }, echo] {
            for length in [0, 9, 100] {
                let message = order.to_message(length);
                assert_eq!((message.len(), Order::from_message(&message)), (length.max(FRONT), Some(order)));
            }
        }
        let cpu = Usage { user_ns: 3, system_ns: u64::MAX };
        let totals = Totals { bytes: 1, messages: 2, cpu, others: 4 };
        for answer in [Answer::Begun, Answer::Busy, Answer::Totals(totals), Answer::Echo, Answer::Unknown] {
            assert_eq!(Answer::from_message(&answer.to_message(50)), Some(answer));
        }
        assert_eq!(Answer::Echo.to_message(50).len(), 50);
    }

    #[test]
    fn anything_else_is_not() {
        for bytes in [&[][..], &[0; 8], &[4; 9]] {
            assert_eq!(Order::from_message(bytes), None, "{bytes:?}");
        }
        for bytes in [&[][..], &[0], &[0x80, 0], &[0x82; 40], &[0x85]] {
            assert_eq!(Answer::from_message(bytes), None, "{bytes:?}");
        }
    }
}
