//! Settings of the programs in the kernel: `struct settings` of `bpf/settings.h`.
//!
//! Weights and powers come from the machines' own code, [`Weights`] and [`fixed_power`].

use crate::error::KernelError;
use crate::params::{D2tcpParams, L2dctParams, ShareParams, VegasParams, Weighting};
use headway_transport::tcp::control::Arithmetic;
use headway_transport::tcp::control::d2tcp::{Expired, nearest_eighth};
use headway_transport::tcp::control::l2dct::weights::{STEPS, Weighting as LabWeighting, Weights};
use headway_transport::tcp::control::l2dct::{L2dctParams as Lab, fixed_power};
use headway_units::Time;

/// One in alpha and in its powers.
pub const UNIT: u32 = 1024;
/// A packet a round trip, in the unit of a window's growth.
pub const PACKET: u32 = 1000;
/// Exponents of the table of powers.
pub const ROWS: usize = STEPS as usize;

/// Says in the memory of a program that it is one of these, in the version of this layout: `headway1`.
pub const MAGIC: u64 = u64::from_be_bytes(*b"headway1");
/// Bytes of `struct about`: the magic number, a name of 16 bytes, and two counters.
pub const ABOUT_BYTES: usize = 40;

/// Name and counters of a loaded program: `struct about` of `bpf/settings.h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, as it is or was registered.
    pub name: String,
    /// Connections that began with it.
    pub connections: u64,
    /// Of these, those that became Reno because their peer has no ECN.
    pub fallbacks: u64,
}

impl About {
    /// Reads the memory of a program; `None` if it is not one of Headway's.
    pub fn from_memory(bytes: &[u8]) -> Option<About> {
        let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let name = bytes.get(8..24)?.split(|&byte| byte == 0).next()?;
        let name = String::from_utf8_lossy(name).into_owned();
        // Other programs have memory of that name too, and a later version may have another layout.
        (word(0)? == MAGIC).then_some(About { name, connections: word(24)?, fallbacks: word(32)? })
    }
}

/// Settings of a loaded program: the first words of `struct settings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// See [`Settings::young`].
    pub young: u64,
    /// See [`Settings::old`].
    pub old: u64,
    /// See [`Settings::deadline_us`].
    pub deadline_us: u64,
    /// See [`Settings::bytes`].
    pub bytes: u64,
    /// See [`Settings::shift`].
    pub shift: u32,
    /// See [`Settings::alpha`].
    pub alpha: u32,
    /// See [`Settings::least`].
    pub least: u32,
    /// See [`Settings::slow_start`].
    pub slow_start: u32,
    /// See [`Settings::urgency`].
    pub urgency: [u32; 3],
    /// See [`Settings::queued`].
    pub queued: [u32; 3],
    /// Of [`Settings::increase`], the oldest and the youngest.
    pub increase: [u32; 2],
}

impl Live {
    /// Reads the memory of a program; `None` if it is too short.
    pub fn from_memory(bytes: &[u8]) -> Option<Live> {
        let long = |at: usize| {
            let at = ABOUT_BYTES + 8 * at;
            Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let word = |at: usize| {
            let at = ABOUT_BYTES + 32 + 4 * at;
            Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        Some(Live {
            young: long(0)?,
            old: long(1)?,
            deadline_us: long(2)?,
            bytes: long(3)?,
            shift: word(0)?,
            alpha: word(1)?,
            least: word(2)?,
            slow_start: word(3)?,
            urgency: [word(4)?, word(5)?, word(6)?],
            queued: [word(7)?, word(8)?, word(9)?],
            // The table has a row for each weight, the oldest first.
            increase: [word(10)?, word(10 + ROWS - 1)?],
        })
    }

    /// The settings of a control, in the words of its parameters.
    pub fn parameter_words(&self, control: &str) -> Vec<(&'static str, String)> {
        let ratio = |of: u32, unit: u32| format!("{}", f64::from(of) / f64::from(unit));
        let marks = || {
            vec![
                ("g", ratio(1, 1 << self.shift.min(31))),
                ("alpha_init", ratio(self.alpha, UNIT)),
                ("min_window", self.least.to_string()),
                ("slow_start", (self.slow_start != 0).to_string()),
            ]
        };
        let eighths = |row: u32| ratio(row + 1, 8);
        match control {
            "l2dct" => {
                let mut all = marks();
                let [oldest, youngest] = self.increase.map(|increase| ratio(increase, PACKET));
                all.extend([("young", self.young.to_string()), ("old", self.old.to_string())]);
                all.extend([("increase_of_young", youngest), ("increase_of_old", oldest)]);
                all
            }
            "d2tcp" => {
                let mut all = marks();
                let [least, most, expired] = self.urgency.map(eighths);
                all.extend([
                    ("deadline_us", self.deadline_us.to_string()),
                    ("bytes", self.bytes.to_string()),
                ]);
                all.extend([("d_min", least), ("d_max", most), ("urgency_when_expired", expired)]);
                all
            }
            "vegas" => {
                let [alpha, beta, gamma] = self.queued.map(|packets| packets.to_string());
                vec![("alpha", alpha), ("beta", beta), ("gamma", gamma)]
            }
            _ => marks(),
        }
    }
}

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
    pub fn for_dctcp(params: &ShareParams) -> Result<Settings, KernelError> {
        // Exact: powers of two and their inverses have no rounding error in floating point.
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
            // Cut off and not rounded, as the lab's controller does.
            alpha: (params.alpha_init * f64::from(UNIT)) as u32,
            least: params.min_window as u32,
            slow_start: params.slow_start.into(),
            urgency: [0; 3],
            queued: [0; 3],
            increase: [PACKET; ROWS],
            // Eighths, as D2TCP needs them; L2DCT puts its own in their place.
            power: (1..=STEPS).map(|step| table_row(f64::from(step) * 0.125)).collect(),
        })
    }

    /// L2DCT's: a row for each step of the weight, the oldest first.
    pub fn for_l2dct(params: &L2dctParams) -> Result<Settings, KernelError> {
        check_contradictions(params)?;
        let weights = Weights::new(&lab_params(params));
        let mut settings = Settings::for_dctcp(&params.share)?;
        settings.young = params.weights.young;
        settings.old = params.weights.old;
        for (step, increase) in (1..=STEPS).zip(&mut settings.increase) {
            let exact = weights.increase_per_round(weights.of_steps(step)) * f64::from(PACKET);
            *increase = exact.round() as u32;
            // Another increase than the lab's would be another protocol.
            if (f64::from(*increase) - exact).abs() > 0.05 * exact {
                return Err(KernelError::BadValue {
                    text: format!("an increase of {} packets", exact / f64::from(PACKET)),
                    reason: "the kernel counts thousandths of a packet a round trip, and these are more than 5 % from it".into(),
                });
            }
        }
        settings.power = (1..=STEPS).map(|step| table_row(weights.of_steps(step))).collect();
        Ok(settings)
    }

    /// D2TCP's: a row for each eighth of the urgency.
    pub fn for_d2tcp(params: &D2tcpParams) -> Result<Settings, KernelError> {
        let own = &params.deadlines;
        // The first row is one eighth.
        let [least, most] = [own.d_min, own.d_max].map(|d| nearest_eighth(d) - 1);
        let expired = match own.on_expired {
            Expired::Neutral => nearest_eighth(1.0) - 1,
            Expired::Patient => least,
            Expired::Urgent => most,
        };
        let mut settings = Settings::for_dctcp(&params.share)?;
        // Rounded up, since 0 means that there is no deadline.
        settings.deadline_us = own.deadline.0.div_ceil(Time::us(1).0);
        settings.bytes = own.bytes;
        settings.urgency = [least, most, expired];
        Ok(settings)
    }

    /// Vegas's: nothing of marks, and a loss leaves what half a window is.
    pub fn for_vegas(params: &VegasParams) -> Settings {
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

    /// As the program has them in memory when it is registered under `name`: the byte order of this machine, and C's padding.
    pub fn to_bytes_as(&self, name: &str) -> Vec<u8> {
        let mut bytes = self.to_bytes();
        // The sixteenth byte stays zero and ends the name.
        let length = name.len().min(15);
        bytes[8..8 + length].copy_from_slice(&name.as_bytes()[..length]);
        bytes
    }

    /// As the program has them in memory, with zeros in the place of the name.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_ne_bytes().to_vec();
        out.resize(ABOUT_BYTES, 0);
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

/// Settings that cannot be meant together.
fn check_contradictions(params: &L2dctParams) -> Result<(), KernelError> {
    let own = &params.weights;
    let wrong = |text: String, reason: String| Err(KernelError::BadValue { text, reason });
    if own.weights == Weighting::Las && own.w_min > own.w_max {
        let reason = format!("the smallest weight is larger than the largest, w_max={}", own.w_max);
        return wrong(format!("w_min={}", own.w_min), reason);
    }
    if own.young >= own.old {
        let reason =
            format!("a connection begins to be old, at young={}, before it has ended to be young", own.young);
        return wrong(format!("old={}", own.old), reason);
    }
    let defaults = L2dctParams::default().weights;
    if own.weights != Weighting::Fixed && (own.weight, own.increase) != (defaults.weight, defaults.increase) {
        let text = format!("weight={}", own.weight);
        return wrong(text, "`weight` and `increase` mean something with weights=fixed alone".into());
    }
    Ok(())
}

/// The lab's parameters of the same name.
pub fn lab_params(params: &L2dctParams) -> Lab {
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

fn table_row(exponent: f64) -> [u16; UNIT as usize + 1] {
    let mut row = [0; UNIT as usize + 1];
    for (entry, alpha) in row.iter_mut().zip(0..) {
        *entry = fixed_power(exponent, alpha) as u16;
    }
    row
}
