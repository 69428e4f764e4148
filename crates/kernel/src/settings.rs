//! Settings of the programs in the kernel: `struct settings` of `bpf/settings.h`.
//!
//! Weights and powers come from the machines' own code, [`Weights`] and [`fixed_power`].

use crate::error::KernelError;
use crate::params::{D2tcpParams, L2dctParams, ShareParams, VegasParams, Weighting};
use headway_transport::tcp::control::Arithmetic;
use headway_transport::tcp::control::d2tcp::{Expired, eighths};
use headway_transport::tcp::control::l2dct::weights::{STEPS, Weighting as LabWeighting, Weights};
use headway_transport::tcp::control::l2dct::{L2dctParams as Lab, fixed_power};
use headway_units::Time;

/// One in alpha and in its powers.
pub const UNIT: u32 = 1024;
/// A packet a round trip, in the unit of a window's growth.
pub const PACKET: u32 = 1000;
/// Exponents of the table of powers.
pub const ROWS: usize = STEPS as usize;

/// The fields of `struct settings`, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes up to which L2DCT's weight is the largest.
    pub young: u64,
    /// Bytes from which on it is the smallest.
    pub old: u64,
    /// D2TCP's deadline in microseconds, from the start of a connection; 0 = none.
    pub deadline_us: u64,
    /// Bytes of a connection's message; 0 = the bytes that have been written.
    pub bytes: u64,
    /// The newest window counts 1 / 2^shift.
    pub shift: u32,
    /// The share of marked packets at first, in 1/1024.
    pub alpha: u32,
    /// Packets that a cut leaves.
    pub least: u32,
    /// 1 if a connection begins in slow start, otherwise 0.
    pub slow_start: u32,
    /// Rows of D2TCP's smallest and largest urgency, and of a passed deadline.
    pub urgency: [u32; 3],
    /// Vegas's alpha, beta and gamma: packets in the queue.
    pub queued: [u32; 3],
    /// Growth of a window in a round trip, in 1/1000 packets, for each row.
    pub increase: [u32; ROWS],
    /// The powers of alpha, for each row.
    pub power: Vec<[u16; UNIT as usize + 1]>,
}

impl Settings {
    /// Settings of DCTCP; the tables are there, and not used.
    pub fn dctcp(params: &ShareParams) -> Result<Settings, KernelError> {
        let shift = (0..=10).find(|&shift| params.g * f64::from(1 << shift) == 1.0).ok_or_else(|| {
            KernelError::BadValue {
                text: format!("g={}", params.g),
                reason: "the kernel divides by powers of two: 1, 0.5, 0.25, 0.125, 0.0625 ... 0.0009765625"
                    .into(),
            }
        })?;
        Ok(Settings {
            young: 0,
            old: 1,
            deadline_us: 0,
            bytes: 0,
            shift,
            alpha: (params.alpha_init * f64::from(UNIT)) as u32,
            least: params.min_window as u32,
            slow_start: params.slow_start.into(),
            urgency: [0; 3],
            queued: [0; 3],
            increase: [PACKET; ROWS],
            power: (1..=STEPS).map(|step| row(f64::from(step) * 0.125)).collect(),
        })
    }

    /// L2DCT's: a row for each step of the weight, the oldest first.
    pub fn l2dct(params: &L2dctParams) -> Result<Settings, KernelError> {
        let weights = Weights::new(&lab(params));
        let mut settings = Settings::dctcp(&params.share)?;
        settings.young = params.weights.young;
        // The weight falls between the two, so that `old` cannot come first.
        settings.old = params.weights.old.max(params.weights.young);
        for (step, increase) in (1..=STEPS).zip(&mut settings.increase) {
            let exact = weights.increase(weights.of_steps(step)) * f64::from(PACKET);
            *increase = exact.round() as u32;
            // Another increase than the lab's would be another protocol.
            if (f64::from(*increase) - exact).abs() > 0.05 * exact {
                return Err(KernelError::BadValue {
                    text: format!("an increase of {} packets", exact / f64::from(PACKET)),
                    reason: "the kernel counts thousandths of a packet a round trip, and these are more than 5 % from it".into(),
                });
            }
        }
        settings.power = (1..=STEPS).map(|step| row(weights.of_steps(step))).collect();
        Ok(settings)
    }

    /// D2TCP's: a row for each eighth of the urgency.
    pub fn d2tcp(params: &D2tcpParams) -> Result<Settings, KernelError> {
        let own = &params.deadlines;
        // The first row is one eighth.
        let [least, most] = [own.d_min, own.d_max].map(|d| eighths(d) - 1);
        let expired = match own.on_expired {
            Expired::Neutral => eighths(1.0) - 1,
            Expired::Patient => least,
            Expired::Urgent => most,
        };
        let mut settings = Settings::dctcp(&params.share)?;
        // Rounded up, since 0 means that there is no deadline.
        settings.deadline_us = own.deadline.0.div_ceil(Time::us(1).0);
        settings.bytes = own.bytes;
        settings.urgency = [least, most, expired];
        Ok(settings)
    }

    /// Vegas's: nothing of marks, and a loss leaves what half a window is.
    pub fn vegas(params: &VegasParams) -> Settings {
        Settings {
            young: 0,
            old: 1,
            deadline_us: 0,
            bytes: 0,
            shift: 0,
            alpha: 0,
            least: 1,
            slow_start: 1,
            urgency: [0; 3],
            queued: [params.alpha, params.beta, params.gamma].map(|packets| packets as u32),
            increase: [PACKET; ROWS],
            power: vec![[0; UNIT as usize + 1]; ROWS],
        }
    }

    /// Bytes as the program has them in memory: the byte order of this machine, and C's padding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for value in [self.young, self.old, self.deadline_us, self.bytes] {
            out.extend(value.to_ne_bytes());
        }
        let words = [self.shift, self.alpha, self.least, self.slow_start];
        for value in words.iter().chain(&self.urgency).chain(&self.queued).chain(&self.increase) {
            out.extend(value.to_ne_bytes());
        }
        for value in self.power.iter().flatten() {
            out.extend(value.to_ne_bytes());
        }
        // C pads a struct to the alignment of its widest field.
        out.resize(out.len().next_multiple_of(size_of::<u64>()), 0);
        out
    }
}

/// The lab's parameters of the same name.
pub fn lab(params: &L2dctParams) -> Lab {
    let own = &params.weights;
    Lab {
        g: params.share.g,
        alpha_init: params.share.alpha_init,
        weights: match own.weights {
            Weighting::Las => LabWeighting::Las,
            Weighting::Ps => LabWeighting::Ps,
            Weighting::Fixed => LabWeighting::Fixed,
        },
        w_max: own.w_max,
        w_min: own.w_min,
        young: own.young,
        old: own.old,
        weight: own.weight,
        increase: own.increase,
        arithmetic: Arithmetic::Fixed,
        ..Lab::default()
    }
}

fn row(exponent: f64) -> [u16; UNIT as usize + 1] {
    let mut row = [0; UNIT as usize + 1];
    for (entry, alpha) in row.iter_mut().zip(0..) {
        *entry = fixed_power(exponent, alpha) as u16;
    }
    row
}
