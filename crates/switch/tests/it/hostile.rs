//! A host that sends whatever it likes, four times as much as its link carries: the switch takes bounded memory, and frames of
//! other hosts pass.

use crate::core::{core_of, frame, frame_of};
use headway_packet::PacketKind;
use headway_primitives::mix;
use headway_switch::Core;
use headway_units::Time;

/// Frames inside at most: the queue of the hostile host's own link, the ports' buffers and the frames on links.
const MOST_INSIDE: u64 = 10_000;
/// Times between frames of the hostile host, and of the honest one.
const HOSTILE: Time = Time::us(20);
const HONEST: Time = Time::us(200);

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % most
    }
}

/// A frame from host 1 to host 3 of any kind, with a few bytes changed, cut or lengthened; or rubbish.
fn hostile(dice: &mut Dice) -> Vec<u8> {
    let kinds = [
        PacketKind::Data,
        PacketKind::Header,
        PacketKind::Ack,
        PacketKind::Grant,
        PacketKind::Token,
        PacketKind::Credit,
        PacketKind::Rts,
        PacketKind::Probe,
    ];
    let kind = kinds[dice.below(kinds.len() as u64) as usize];
    let mut bytes = frame_of(kind, 1, 3, dice.below(1 << 32) as u32, dice.below(1400) as usize);
    match dice.below(8) {
        0 => bytes = (0..dice.below(2000)).map(|_| dice.below(256) as u8).collect(),
        1 => bytes.truncate(dice.below(bytes.len() as u64) as usize),
        2 => bytes.resize(bytes.len() + dice.below(20_000) as usize, 0x5a),
        3 => {}
        _ => {
            for _ in 0..=dice.below(8) {
                // Headers first of all.
                let most = if dice.below(2) == 0 { 100 } else { bytes.len() as u64 };
                let place = dice.below(most.min(bytes.len() as u64)) as usize;
                bytes[place] = dice.below(256) as u8;
            }
        }
    }
    bytes
}

/// Honest frames that reach host 2 until `until`.
fn drain(core: &mut Core, until: Time) -> u64 {
    core.advance(until);
    let mut arrived = 0;
    while let Some(good) = core.poll_frame(|host, _, bytes| host == 2 && bytes.ends_with(&[0x77; 8])) {
        arrived += u64::from(good);
    }
    arrived
}

#[test]
fn a_hostile_host_takes_bounded_memory_and_slows_no_other_down() {
    // A second or two in `make test`; the queue of the hostile host's link is full after a quarter of that.
    let all: u64 = if headway_testing::times() > 1 { 10_000_000 } else { 80_000 };
    for discipline in ["drop-tail", "trimming"] {
        let (mut core, mut dice) = (core_of(discipline, 400, 64), Dice(7));
        let (mut sent, mut arrived, mut refused, mut most) = (0u64, 0, 0u64, [0u64; 2]);
        let honest = frame(0, 2, 0x77, 1000);
        for number in 0..all / 2 {
            let now = HOSTILE * number;
            arrived += drain(&mut core, now);
            refused += u64::from(core.receive(now, 1, &hostile(&mut dice)).is_err());
            if number % (HONEST.0 / HOSTILE.0) == 0 {
                core.receive(now, 0, &honest).expect("a good frame");
                sent += 1;
            }
            let half = usize::from(number >= all / 4);
            most[half] = most[half].max(core.held());
        }
        let end = HOSTILE * (all / 2) + Time::s(60);
        arrived += drain(&mut core, end);
        assert!(most[1] <= MOST_INSIDE && most[1] <= most[0] + 100, "{discipline}: {most:?}");
        assert!(arrived * 10 >= sent * 9, "{discipline}: {arrived} of {sent}");
        assert!(refused * 10 > all / 2 && refused < all / 2, "{discipline}: some are refused: {refused}");
        assert_eq!(core.held(), 0, "{discipline}: all have left");
        core.links(end).expect("counters that agree");
    }
}
