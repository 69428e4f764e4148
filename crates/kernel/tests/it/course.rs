//! A window stays one that a connection can go on with, whatever the kernel takes for its window and threshold.

use crate::host;
use headway_kernel::Control;
use headway_kernel::settings::PACKET;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

const CONNECTIONS: u64 = 250;
const STEPS: u32 = 300;
const INFINITE: u32 = 0x7fff_ffff;

/// A value that a stack may contain: often 0, otherwise any.
fn any_value(random: &mut Pcg64Mcg) -> u32 {
    match random.next_u32() % 4 {
        0 => 0,
        1 => random.next_u32() % 4,
        2 => random.next_u32() % 100,
        _ => random.next_u32(),
    }
}

/// One connection: its first window, then acknowledgements. Packets delivered are in the first place.
fn random_connection(seed: u64, lies: bool) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let cwnd = 1 + random.next_u32() % 20;
    let mut text = format!("0 0 0 0 {cwnd} {INFINITE}\n");
    let mut reducing = 0;
    for _ in 0..STEPS {
        let mut threshold: i64 = -1;
        if random.next_u32().is_multiple_of(8) {
            reducing = 1 - reducing;
            // A connection that enters a reduction has set a threshold; where the program did not run, it is whatever
            // was there.
            threshold = if reducing == 0 {
                -1
            } else if lies {
                any_value(&mut random).into()
            } else {
                2
            };
        }
        let window =
            // Rarer than false thresholds, so that true windows have time to grow in between.
            if lies && random.next_u32().is_multiple_of(40) { any_value(&mut random).into() } else { -1i64 };
        let (packets, share) = (1 + random.next_u32() % 4, random.next_u32() % 1025);
        let increase = if random.next_u32().is_multiple_of(3) { 0 } else { PACKET };
        writeln!(text, "{packets} {reducing} {increase} {share} {window} {threshold}").expect("to a string");
    }
    text
}

#[test]
fn no_window_is_nothing_or_larger_than_it_can_be() {
    let connections = CONNECTIONS * u64::from(headway_testing::times());
    // The usual two packets, a single one, and more than a connection begins with.
    for sets in [vec![], vec!["min_window=1".into()], vec!["min_window=50".into()]] {
        let settings = Control::Dctcp.parse_settings(&sets).expect("good").to_bytes();
        for lies in [false, true] {
            let text: String = (0..connections).map(|seed| random_connection(seed, lies)).collect();
            let Some(output) = host::compiled_output("course.c", &[], &settings, &text) else { return };
            let (mut most, mut unlike) = (0, 0);
            for (number, (step, said)) in text.lines().zip(output.lines()).enumerate() {
                let words: Vec<i64> = step.split(' ').map(|word| word.parse().expect("a number")).collect();
                let (cwnd, ssthresh) = said.split_once(' ').expect("two");
                let (cwnd, ssthresh): (u32, u32) =
                    (cwnd.parse().expect("a number"), ssthresh.parse().expect("a number"));
                let packets = words[0] as u32;
                // 50, because `min_window=50` may raise a threshold above every window so far.
                most = if packets == 0 { cwnd.max(50) } else { most + packets };
                assert!(cwnd >= 1 && cwnd <= most, "{sets:?}, line {number}: {step}: {said}");
                let least = if sets == ["min_window=1"] { 1 } else { 2 };
                assert!(
                    ssthresh == INFINITE || (ssthresh >= least && ssthresh <= most),
                    "{sets:?}, line {number}: {step}: {said}"
                );
                unlike += usize::from(words[5] >= 0 && words[5] != i64::from(ssthresh));
            }
            assert_eq!(output.lines().count(), text.lines().count());
            // False values were fed in, and most of them were not believed; true ones always are.
            assert_eq!(unlike as u64 > connections * 5, lies, "{sets:?}: {unlike}");
            assert!(lies || unlike == 0, "{sets:?}: {unlike}");
        }
    }
}
