//! The contract between a machine and its driver: the assertions of the wrapper, and the inputs that a machine bears.

use crate::harness;

use harness::plan::{NIC, Plan};
use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_params::Params;
use headway_transport::endpoint::Checked;
use headway_transport::promises::Promised;
use headway_transport::registry::{self, Machine, PromisedVisitor, TransportVisitor};
use headway_transport::{Endpoint, HostContext, InitialWindow, Message, Transport};
use headway_units::Time;
use proptest::prelude::*;

/// Asks a transport for `Promised::FIRST_WINDOW`: true if it sends anything without permission.
struct FirstWindow;

impl PromisedVisitor for FirstWindow {
    type Output = bool;

    fn visit_promised_transport<T: Promised>(self) -> bool {
        T::FIRST_WINDOW
    }
}

/// A machine of host 0, whatever its transport.
fn machine_named(name: &str) -> Machine {
    let path = Plan::without_faults(5, Vec::new()).common_path();
    let path = Box::new(move |_| path);
    let context = HostContext { host: HostId(0), nic: NIC, sizes: Sizes::default(), seed: 0, path };
    registry::make_machine(name, &[], context).expect("registered").expect("nothing is set")
}

fn message_of(id: u32, packets: u64) -> Message {
    Message {
        id,
        dst: HostId(1),
        bytes: packets * 1460,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        entropy: 0,
        tag: id,
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "before the events of the last one were drained")]
fn an_input_before_the_events_are_drained_is_a_bug() {
    // The assertions are those of the wrapper, whichever machine is inside.
    let mut checked = Checked::new(machine_named("template"));
    checked.open_message(Time::us(1), &message_of(0, 1));
    checked.open_message(Time::us(1), &message_of(1, 1));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "time went back")]
fn time_does_not_go_back() {
    let mut checked = Checked::new(machine_named("template"));
    checked.handle_timeout(Time::us(2));
    while checked.poll_event().is_some() {}
    checked.handle_timeout(Time::us(1));
}

#[test]
fn a_fresh_machine_wants_nothing() {
    for name in registry::NAMES {
        let mut machine = machine_named(name);
        assert_eq!(machine.next_timeout(), None, "{name}");
        assert_eq!(machine.poll_transmit(Time::ZERO), None, "{name}");
        assert_eq!(machine.poll_event(), None, "{name}");
        assert_eq!(machine.live_messages(), 0, "{name}");
        machine.handle_timeout(Time::us(5));
        assert_eq!(machine.next_timeout(), None, "{name}: a wake-up for nothing arms nothing");
    }
}

/// An application that stalls after the first window sends that and, whatever it is permitted, no more
/// than repetitions of it.
#[test]
fn an_unresponsive_message_sends_its_first_window_alone() {
    for name in registry::NAMES {
        let mut machine = machine_named(name);
        let opens = registry::visit_promised(name, FirstWindow).expect("registered");
        machine.open_message(Time::ZERO, &Message { responsive: false, ..message_of(0, 200) });
        let mut window = None;
        for step in 0..2000u64 {
            let now = Time::us(step);
            while machine.poll_event().is_some() {}
            while let Some(packet) = machine.poll_transmit(now) {
                if packet.is_data() {
                    let window = *window.get_or_insert(packet.count);
                    assert!(packet.index < window, "{name}: packet {} of {window}", packet.index);
                }
            }
            // Permissions of every family of transports: each machine hears its own and ignores the others.
            let kinds =
                [PacketKind::Grant, PacketKind::Token, PacketKind::Ack, PacketKind::Pull, PacketKind::Credit];
            let kind = kinds[step as usize % kinds.len()];
            let mut permission = Packet::new(kind, HostId(1), HostId(0), 0);
            (permission.index, permission.count, permission.token) = (step as u32 % 200, 1, step as u32);
            permission.flags = PacketFlags::only_if(kind == PacketKind::Pull, PacketFlags::PULL);
            machine.receive_packet(now, &permission);
            machine.handle_timeout(now);
        }
        assert!(!opens || window.is_some_and(|w| w > 1), "{name}: no first window");
    }
}

/// Every declared parameter takes its own default, and refuses an unknown name.
#[test]
fn parameters_take_what_they_declare() {
    struct Set;
    impl TransportVisitor for Set {
        type Output = ();
        fn visit_transport<T: Transport>(self) {
            let mut params = T::Params::default();
            for (spec, value) in T::Params::specs().iter().zip(params.values()) {
                assert_eq!(params.set(spec.name, value), Ok(()), "{}", spec.name);
            }
            assert_eq!(params, T::Params::default());
            assert!(params.set("no_such_parameter", headway_params::ParamValue::Bool(true)).is_err());
        }
    }
    registry::NAMES.iter().for_each(|name| registry::visit_transport(name, Set).expect("registered"));
}

/// Packets that no peer has sent: any kind, any numbers, about messages that exist or do not.
fn stray_packet() -> impl Strategy<Value = Packet> {
    let number = || prop_oneof![3 => 0u32..40, 1 => 0u32..3000, 1 => Just(u32::MAX)];
    let numbers = (0..PacketKind::ALL.len(), 0u32..4, 0u32..3, number(), number(), number(), number());
    let rest = (0u64..300_000, any::<u64>(), 0u16..1500, 0u8..4, 0u8..32);
    (numbers, rest).prop_map(|(n, (message_bytes, lifetime, payload, ecn, flags))| {
        let kind = PacketKind::ALL[n.0];
        let mut packet = Packet::new(kind, HostId(n.1), HostId(0), n.2);
        // An index bounds memory, as the path bounds it for packets that a peer did send.
        (packet.index, packet.count, packet.token, packet.remaining) = (n.3.min(3000), n.4, n.5, n.6);
        (packet.message_bytes, packet.lifetime) = (message_bytes, Time(lifetime));
        (packet.payload, packet.ecn, packet.flags) = (payload, Ecn::from_bits(ecn), PacketFlags(flags));
        packet
    })
}

proptest! {
    #![proptest_config(headway_testing::cases!(60))]

    /// Nothing that arrives makes a machine panic or answer without end.
    #[test]
    fn stray_packets_do_no_harm(packets in proptest::collection::vec(stray_packet(), 1..120)) {
        for name in registry::NAMES {
            let mut machine = Checked::new(machine_named(name));
            machine.open_message(Time::ZERO, &message_of(0, 30));
            while machine.poll_event().is_some() {}
            let mut sent = 0;
            for (step, packet) in packets.iter().enumerate() {
                let now = Time::us(3 * step as u64);
                machine.receive_packet(now, packet);
                while machine.poll_event().is_some() {}
                machine.handle_timeout(now);
                while machine.poll_event().is_some() {}
                while machine.poll_transmit(now).is_some() {
                    sent += 1;
                    prop_assert!(sent < 100_000, "{} sends without end", name);
                }
            }
        }
    }
}
