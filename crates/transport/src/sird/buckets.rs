//! Credit that a receiver gives to one sender: the smaller of two buckets, which follow the marks of switches and the
//! bit of the sender. SIRD §4.2

use super::SirdParams;

/// One control loop.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// Bytes of credit.
    bucket: u64,
    least: u64,
    /// Share of marked packets, a mean over batches.
    share: f64,
    /// Marked packets of this batch.
    marked: u32,
    /// Packets since the last cut, and how many there must be before the next.
    since: u64,
    spacing: u64,
}

impl Loop {
    fn new(bdp: u64, least: f64, frame: u64) -> Loop {
        let least = ((least * bdp as f64) as u64).max(1);
        Loop { bucket: bdp, least, share: 0.0, marked: 0, since: 0, spacing: bdp / frame }
    }

    /// Every packet adds; a marked one takes, if there was none for a window and a half. `window` is the smaller bucket.
    fn count_packet(&mut self, marked: bool, window: u64, frame: u64, most: u64) {
        self.since += 1;
        // A frame more for each bucket of packets, as DCTCP adds one for each window.
        let mut bucket = (self.bucket + frame * frame / window) as f64;
        if marked && self.since >= self.spacing {
            bucket -= self.bucket as f64 * self.share / 2.0;
            // DCTCP cuts once a window; here the packets of half a window more pass before the next cut is judged.
            (self.since, self.spacing) = (0, window * 3 / 2 / frame);
        }
        self.bucket = (bucket as u64).clamp(self.least.min(most), most);
    }
}

/// The two loops of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    network: Loop,
    host: Loop,
    /// Bytes of a bandwidth-delay product, and of a full frame.
    bdp: u64,
    frame: u64,
    gain: f64,
    /// Packets of this batch so far, and when it is full.
    packets: u64,
    batch: u64,
}

impl Buckets {
    /// Buckets for a path that holds `bdp` bytes, in frames of `frame`.
    pub(super) fn new(params: &SirdParams, bdp: u64, frame: u64) -> Buckets {
        Buckets {
            network: Loop::new(bdp, params.network_floor, frame),
            host: Loop::new(bdp, params.host_floor, frame),
            bdp,
            frame,
            gain: params.gain,
            packets: 0,
            batch: 1,
        }
    }

    /// Bytes of credit that may be out without another being refused.
    pub(super) fn bucket_bytes(&self) -> u64 {
        self.network.bucket.min(self.host.bucket)
    }

    /// A data packet arrives, marked by a switch or not, of a sender with too much credit or not.
    pub(super) fn count_packet(&mut self, marked: bool, congested: bool) {
        let window = self.bucket_bytes();
        self.packets += 1;
        self.network.marked += u32::from(marked);
        self.host.marked += u32::from(congested);
        // Before the loops: a batch that this packet completes counts for the cut that it may cause.
        if self.packets >= self.batch {
            let packets = self.packets as f64;
            for side in [&mut self.network, &mut self.host] {
                side.share = (1.0 - self.gain) * side.share + self.gain * f64::from(side.marked) / packets;
                side.marked = 0;
            }
            (self.packets, self.batch) = (0, (window / self.frame).max(1));
        }
        self.network.count_packet(marked, window, self.frame, self.bdp);
        self.host.count_packet(congested, window, self.frame, self.bdp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_buckets() -> Buckets {
        Buckets::new(&SirdParams::default(), 100_000, 1538)
    }

    #[test]
    fn a_window_adds_a_frame() {
        for (bucket, added) in [(100_000, 23), (50_000, 47), (10_000, 236), (3_000, 788)] {
            let mut side = Loop { bucket, ..Loop::new(200_000, 0.01, 1538) };
            side.count_packet(false, bucket, 1538, 200_000);
            assert_eq!(side.bucket - bucket, added, "at {bucket}");
        }
    }

    #[test]
    fn the_first_cut_of_a_fresh_bucket_is_small() {
        // The first packet is a batch of its own, the next 65 are one: one marked of 65.
        let mut buckets = test_buckets();
        (0..65).for_each(|_| buckets.count_packet(false, false));
        assert_eq!((buckets.bucket_bytes(), buckets.batch), (100_000, 65));
        buckets.count_packet(true, false);
        let share = 0.08 / 65.0;
        assert!((buckets.network.share - share).abs() < 1e-12);
        assert_eq!(buckets.network.bucket, (100_023.0 - 100_000.0 * share / 2.0) as u64);
        // All packets marked from there on: about four per cent at the next cut.
        let mut least = buckets.bucket_bytes();
        for _ in 0..98 {
            buckets.count_packet(true, false);
            least = least.min(buckets.bucket_bytes());
        }
        assert!((95_900..96_100).contains(&least), "{least}");
    }

    #[test]
    fn the_smaller_bucket_counts_and_neither_falls_below_its_floor() {
        let (mut host, mut network) = (test_buckets(), test_buckets());
        for _ in 0..20_000 {
            host.count_packet(false, true);
            network.count_packet(true, false);
        }
        assert!(host.network.bucket > host.host.bucket && network.host.bucket > network.network.bucket);
        assert!((10_000..11_000).contains(&host.bucket_bytes()), "{}", host.bucket_bytes());
        assert!((3_000..12_000).contains(&network.bucket_bytes()), "{}", network.bucket_bytes());
    }

    #[test]
    fn a_tenth_of_marks_holds_the_bucket_where_adding_and_cutting_are_equal() {
        // W x share is 3 frames: 46 kB at a tenth.
        let mut buckets = test_buckets();
        let (mut sum, mut count) = (0.0, 0.0);
        for packet in 0..200_000u32 {
            buckets.count_packet(packet % 10 == 0, false);
            if packet > 100_000 {
                (sum, count) = (sum + buckets.bucket_bytes() as f64, count + 1.0);
            }
        }
        let mean = sum / count;
        assert!((40_000.0..54_000.0).contains(&mean), "{mean}");
    }
}
