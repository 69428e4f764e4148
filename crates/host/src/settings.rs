//! A configuration from texts, for programs in other languages, command lines and files: each setting has a name.

use crate::config::{Admission, Config, MAX_MTU, MIN_MTU, RoundTrip};
use crate::error::{ConfigError, SettingError};
use crate::key::PreSharedKey;
use headway_params::{ParamKind, ParamSpec, ParamValue, names};
use headway_units::{Rate, Time};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// A setting that has a text form.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the setting.
    pub name: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// Meaning in a sentence.
    pub meaning: &'static str,
    takes: Takes,
}

/// Effect of a setting on a configuration.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Transport,
    Discipline,
    Allow,
    Addresses,
    KeyFile,
    OtherKeyFile,
    TraceFile,
    Clock,
    RoundTrip,
    /// A value in a range, and its effect on a configuration.
    Value(fn() -> ParamKind, fn(&mut Config, ParamValue)),
}

/// Longest duration that a setting takes.
const LONGEST: Time = Time::DAY;
/// Slowest link that one names.
const SLOWEST: Rate = match Rate::new(1_000) {
    Some(rate) => rate,
    // Never: 1,000 is above 0. A constant cannot unwrap.
    None => Rate::gbps(1),
};

fn duration_kind() -> ParamKind {
    ParamKind::Time { min: Time::ns(1), max: LONGEST }
}

fn duration_or_none() -> ParamKind {
    ParamKind::Time { min: Time::ZERO, max: LONGEST }
}

fn rate_kind() -> ParamKind {
    ParamKind::Rate { min: SLOWEST, max: Rate::gbps(100_000) }
}

fn bytes_kind() -> ParamKind {
    ParamKind::Bytes { min: 1, max: u64::MAX }
}

fn count_kind() -> ParamKind {
    ParamKind::Int { min: 1, max: 1 << 20 }
}

fn datagrams_kind() -> ParamKind {
    ParamKind::Int { min: 1, max: 1 << 31 }
}

fn boolean_kind() -> ParamKind {
    ParamKind::Bool
}

fn mtu_kind() -> ParamKind {
    ParamKind::Int { min: MIN_MTU.into(), max: MAX_MTU.into() }
}

macro_rules! value {
    ($kind:expr, $variant:ident, |$config:ident, $value:ident| $set:expr) => {
        Takes::Value($kind, |$config, value| {
            if let ParamValue::$variant($value) = value {
                $set;
            }
        })
    };
}

/// Every setting. In addition, `transport.NAME` and `discipline.NAME` set a parameter of the transport and of the port
/// discipline.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "transport",
        example: "homa",
        meaning: "Name of the transport; both ends must have the same.",
        takes: Takes::Transport,
    },
    Setting {
        name: "discipline",
        example: "drop-tail",
        meaning: "Port discipline of this host's own link, instead of the transport's usual one.",
        takes: Takes::Discipline,
    },
    Setting {
        name: "allow",
        example: "10.0.0.0/8, 192.168.1.7/32",
        meaning: "Networks whose hosts may exchange messages with this endpoint. Nothing is encrypted.",
        takes: Takes::Allow,
    },
    Setting {
        name: "key_file",
        example: "key",
        meaning: "File with the key that all hosts share: 32 bytes, or 64 hexadecimal digits.",
        takes: Takes::KeyFile,
    },
    Setting {
        name: "other_key_file",
        example: "key",
        meaning: "File with another key that a host may have instead, while keys change. Needs `key_file`.",
        takes: Takes::OtherKeyFile,
    },
    Setting {
        name: "renew_datagrams",
        example: "1048576",
        meaning: "Datagrams that are sealed with one generation of keys, from 1 to 2^31.",
        takes: value!(datagrams_kind, Int, |config, count| config.renewal.datagrams = count as u32),
    },
    Setting {
        name: "renew_after",
        example: "60 s",
        meaning: "Time for which one generation of keys seals; at least `renew_late`.",
        takes: value!(duration_kind, Time, |config, time| config.renewal.time = time),
    },
    Setting {
        name: "renew_late",
        example: "1 s",
        meaning: "Time for which keys of before a renewal are kept for late datagrams, from 1 us to 1000 s.",
        takes: value!(duration_kind, Time, |config, time| config.renewal.late = time),
    },
    Setting {
        name: "trace_file",
        example: "messages.sqlog",
        meaning: "File that what happens to messages is written to, as qlog; `headway report FILE` draws it.",
        takes: Takes::TraceFile,
    },
    Setting {
        name: "rate",
        example: "25 Gbps",
        meaning: "Rate of this host's link, instead of the one that the kernel reports.",
        takes: value!(rate_kind, Rate, |config, rate| config.nic = Some(rate)),
    },
    Setting {
        name: "mtu",
        example: "9000",
        meaning: "Largest IP packet on every path, in bytes; both ends must have the same.",
        takes: value!(mtu_kind, Int, |config, bytes| config.mtu = bytes as u16),
    },
    Setting {
        name: "round_trip",
        example: "measured",
        meaning: "Base round trip of every path: `measured`, or a duration that is taken instead.",
        takes: Takes::RoundTrip,
    },
    Setting {
        name: "max_round_trip",
        example: "5 ms",
        meaning: "Longest round trip when nothing is lost, which sizes time-outs.",
        takes: value!(duration_kind, Time, |config, time| config.path.max_rtt = time),
    },
    Setting {
        name: "bottleneck",
        example: "100 Gbps",
        meaning: "Rate of the slowest link of every path, if it is slower than this host's.",
        takes: value!(rate_kind, Rate, |config, rate| config.path.bottleneck = rate),
    },
    Setting {
        name: "clock",
        example: "machine",
        meaning: "`machine`: the monotonic clock of this machine, for transports whose hosts count rounds of time together.",
        takes: Takes::Clock,
    },
    Setting {
        name: "telemetry",
        example: "true",
        meaning: "True if switches on every path write stamps into packets (in-band telemetry), for transports that need it.",
        takes: value!(boolean_kind, Bool, |config, telemetry| config.telemetry = telemetry),
    },
    Setting {
        name: "addresses",
        example: "10.0.1.2, 10.0.2.2",
        meaning: "More addresses of this host, each with a socket and, to peers that answer there, a path of its own.",
        takes: Takes::Addresses,
    },
    Setting {
        name: "follow_interfaces",
        example: "true",
        meaning: "True if addresses go when their interfaces lose them, and come back with them.",
        takes: value!(boolean_kind, Bool, |config, follow| config.follow_interfaces = follow),
    },
    Setting {
        name: "path_timeout",
        example: "200 ms",
        meaning: "Silence of a path after which others take its place.",
        takes: value!(duration_kind, Time, |config, time| config.path_timeout = time),
    },
    Setting {
        name: "total_bytes",
        example: "1 GB",
        meaning: "Most memory that all messages take.",
        takes: value!(bytes_kind, Int, |config, bytes| config.limits.total_bytes = bytes),
    },
    Setting {
        name: "peer_bytes",
        example: "256 MB",
        meaning: "Most memory that messages to and from one peer take.",
        takes: value!(bytes_kind, Int, |config, bytes| config.limits.peer_bytes = bytes),
    },
    Setting {
        name: "message_bytes",
        example: "64 MB",
        meaning: "Longest message that is sent or accepted.",
        takes: value!(bytes_kind, Int, |config, bytes| config.limits.message_bytes = bytes),
    },
    Setting {
        name: "peer_messages",
        example: "256",
        meaning: "Messages under way at a time to one peer, and from one peer.",
        takes: value!(count_kind, Int, |config, count| config.limits.peer_messages = count as u32),
    },
    Setting {
        name: "peers",
        example: "4096",
        meaning: "Peers that are remembered.",
        takes: value!(count_kind, Int, |config, count| config.limits.peers = count as u32),
    },
    Setting {
        name: "peer_timeout",
        example: "30 s",
        meaning: "Silence after which a peer counts as unreachable.",
        takes: value!(duration_kind, Time, |config, time| config.peer_timeout = time),
    },
    Setting {
        name: "progress_timeout",
        example: "60 s",
        meaning: "Time for which a message may be without progress while its peer answers.",
        takes: value!(duration_kind, Time, |config, time| config.progress_timeout = time),
    },
    Setting {
        name: "call_timeout",
        example: "60 s",
        meaning: "Longest wait of a call for its reply, where the call does not say.",
        takes: value!(duration_kind, Time, |config, time| config.call_timeout = time),
    },
    Setting {
        name: "spin",
        example: "200 us",
        meaning: "Time for which a waiting thread polls for datagrams before it sleeps.",
        takes: value!(duration_or_none, Time, |config, time| config.spin = time),
    },
];

impl Config {
    /// The default configuration with settings such as `("transport", "homa")` or `("rate", "25 Gbps")`, in any order. [`SETTINGS`]
    /// lists them; `transport.NAME` and `discipline.NAME` set a parameter of either.
    ///
    /// ```
    /// use headway_host::Config;
    /// let config = Config::from_settings([("transport", "homa"), ("mtu", "9000"), ("spin", "200 us")])?;
    /// assert_eq!((config.transport.as_str(), config.mtu), ("homa", 9000));
    /// let wrong = Config::from_settings([("mtuu", "9000")]).expect_err("no such setting");
    /// assert_eq!(wrong.to_string(), "there is no setting `mtuu`: did you mean `mtu`?");
    /// # Ok::<(), headway_host::SettingError>(())
    /// ```
    ///
    /// # Errors
    /// An unknown name, with the nearest one; a value out of its range; a file without a key.
    pub fn from_settings<'a>(
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Config, SettingError> {
        let (mut config, mut parameters) = (Config::default(), Vec::new());
        let mut said: Vec<&str> = Vec::new();
        for (name, value) in settings {
            let excluded = |other: &&&str| match **other {
                // Either says who may talk to the endpoint, and the last one would win silently.
                "allow" => name == "key_file",
                "key_file" => name == "allow",
                other => other == name,
            };
            let same = said.iter().find(|other| **other == name || excluded(other));
            if let Some(other) = same {
                return Err(SettingError::Twice { name: name.into(), other: (*other).into() });
            }
            said.push(name);
            if name.starts_with("transport.") || name.starts_with("discipline.") {
                // Read at the end: they belong to a transport that a later setting may name.
                parameters.push((name, value));
            } else {
                let setting = SETTINGS.iter().find(|setting| setting.name == name);
                let setting =
                    setting.ok_or_else(|| unknown_setting(name, SETTINGS.iter().map(|s| s.name)))?;
                setting.apply_value(&mut config, value)?;
            }
        }
        for (name, value) in parameters {
            config.set_parameter(name, value)?;
        }
        Ok(config)
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let (of, parameter) = name.split_once('.').unwrap_or((name, ""));
        let entry = headway_transport::registry::find_entry(&self.transport)
            .ok_or_else(|| ConfigError::UnknownTransport(self.transport.clone()))?;
        let (specs, values) = if of == "transport" {
            (entry.params, &mut self.params)
        } else {
            let discipline = self.discipline.as_deref().unwrap_or(entry.info.discipline);
            let (_, specs) = headway_fabric::registry::find(discipline)
                .ok_or_else(|| ConfigError::UnknownDiscipline(discipline.into()))?;
            (specs, &mut self.discipline_params)
        };
        let Some(spec) = specs.iter().find(|spec| spec.name == parameter) else {
            let full: Vec<String> = specs.iter().map(|spec| format!("{of}.{}", spec.name)).collect();
            return Err(unknown_setting(name, full.iter().map(String::as_str)));
        };
        values.push((parameter.into(), read_value(name, spec, value)?));
        Ok(())
    }
}

impl Setting {
    fn read_key(&self, file: &str) -> Result<PreSharedKey, SettingError> {
        PreSharedKey::read(Path::new(file))
            .map_err(|error| SettingError::Key { name: self.name.into(), error })
    }

    fn apply_value(&self, config: &mut Config, value: &str) -> Result<(), SettingError> {
        let wrong = |expected: &str| SettingError::Value {
            name: self.name.into(),
            value: value.into(),
            expected: expected.into(),
        };
        match self.takes {
            Takes::Transport => {
                if headway_transport::registry::find_entry(value).is_none() {
                    return Err(ConfigError::UnknownTransport(value.into()).into());
                }
                config.transport = value.into();
            }
            Takes::Discipline => {
                if headway_fabric::registry::find(value).is_none() {
                    return Err(ConfigError::UnknownDiscipline(value.into()).into());
                }
                config.discipline = Some(value.into());
            }
            Takes::Allow => {
                let networks =
                    value.split(',').map(|network| network.trim().parse()).collect::<Result<_, _>>();
                let networks = networks.map_err(|_| {
                    wrong("networks with the lengths of their prefixes, such as 10.0.0.0/8, with commas between them")
                })?;
                config.admission = Admission::Prefixes(networks);
            }
            Takes::Addresses => {
                let address = |text: &str| match text.trim() {
                    // A bare IPv6 address has several colons and no port.
                    text if text.contains('[') || text.matches(':').count() == 1 => text.parse().ok(),
                    text => text.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, 0)),
                };
                let addresses: Option<Vec<SocketAddr>> = value.split(',').map(address).collect();
                // Peers are told these addresses, and cannot send to 0.0.0.0.
                let known = addresses.filter(|all| all.iter().all(|address| !address.ip().is_unspecified()));
                config.addresses = known.ok_or_else(|| {
                    wrong(
                        "addresses of this host, such as 10.0.1.2 or 10.0.1.2:7000, with commas between them",
                    )
                })?;
            }
            Takes::KeyFile => {
                config.admission = Admission::PreSharedKey(self.read_key(value)?);
            }
            Takes::TraceFile if value.is_empty() => return Err(wrong("the path of a file")),
            Takes::TraceFile => config.trace_file = Some(value.into()),
            Takes::OtherKeyFile => config.other_key = Some(self.read_key(value)?),
            Takes::Clock => {
                config.origin_ns = match value {
                    // Origin 0 is the monotonic clock itself, which all processes of a machine share.
                    "machine" => Some(0),
                    "own" => None,
                    _ => return Err(wrong("own or machine")),
                }
            }
            Takes::RoundTrip if value == "measured" => config.round_trip = RoundTrip::Measured,
            Takes::RoundTrip => {
                let spec = self.param_spec(duration_kind());
                let Ok(ParamValue::Time(time)) = spec.read_value(value) else {
                    return Err(wrong(&format!("`measured`, or {}", spec.kind.expected_form())));
                };
                config.round_trip = RoundTrip::Given;
                config.path.base_rtt = time;
                // The longest round trip is never below the base one.
                config.path.max_rtt = config.path.max_rtt.max(time);
            }
            Takes::Value(kind, set) => set(config, read_value(self.name, &self.param_spec(kind()), value)?),
        }
        Ok(())
    }

    fn param_spec(&self, kind: ParamKind) -> ParamSpec {
        // The default is not read: a setting that is not given leaves the configuration alone.
        ParamSpec { name: self.name, kind, default: ParamValue::Int(0), doc: self.meaning }
    }
}

fn read_value(name: &str, spec: &ParamSpec, value: &str) -> Result<ParamValue, SettingError> {
    let wrong = |_| SettingError::Value {
        name: name.into(),
        value: value.into(),
        expected: spec.kind.expected_form(),
    };
    spec.read_value(value).map_err(wrong)
}

fn unknown_setting<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> SettingError {
    SettingError::Unknown { name: name.into(), help: names::name_suggestion(name, known) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn settings_error(settings: &[(&str, &str)]) -> String {
        Config::from_settings(settings.iter().copied()).expect_err("refused").to_string()
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "keys come from files")]
    fn every_example_is_taken_and_every_nonsense_refused() {
        let key = std::env::temp_dir().join(format!("headway-settings-{}", std::process::id()));
        std::fs::write(&key, [7; 32]).expect("a file");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("its mode");
        for setting in SETTINGS {
            let file = key.to_string_lossy();
            let example = if setting.name.ends_with("key_file") { &*file } else { setting.example };
            Config::from_settings([(setting.name, example)]).expect(setting.name);
            let nonsense = if setting.name == "trace_file" { "" } else { "\u{1}" };
            assert!(Config::from_settings([(setting.name, nonsense)]).is_err(), "{}", setting.name);
        }
        std::fs::remove_file(&key).expect("removed");
    }

    #[test]
    fn mistakes_say_where_and_what_would_be_right() {
        assert_eq!(
            settings_error(&[("transprt", "homa")]),
            "there is no setting `transprt`: did you mean `transport`?"
        );
        // The middle letters are Cyrillic, so no name is near enough to be suggested.
        assert_eq!(settings_error(&[("transport", "hома")]).find("there is no transport `"), Some(0));
        assert_eq!(
            settings_error(&[("mtu", "90000")]),
            "setting `mtu` is `90000`, and takes a whole number from 256 to 9216"
        );
        assert!(settings_error(&[("rate", "25")]).contains("takes a rate with a unit"));
        assert!(settings_error(&[("rate", "0 Gbps")]).contains("takes a rate with a unit"));
        assert!(
            settings_error(&[("allow", "10.0.0.0/33")])
                .contains("networks with the lengths of their prefixes")
        );
        assert!(
            settings_error(&[("transport.zzz", "1"), ("transport", "tcp")]).contains("there is no setting")
        );
        assert!(settings_error(&[("mtu", "1500"), ("mtu", "9000")]).contains("said before"));
        assert!(
            settings_error(&[("allow", "10.0.0.0/8"), ("key_file", "key")])
                .contains("`allow`, which excludes it")
        );
        for name in ["key_file", "other_key_file"] {
            let said = settings_error(&[(name, "/there/is/none")]);
            assert!(
                said.starts_with(&format!("setting `{name}`: ")) && said.contains("/there/is/none"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_guide_lists_every_setting() {
        let page = include_str!("../../../docs/real-hosts.md");
        for setting in SETTINGS {
            let row = format!("| `{}` | `{}` | {} |\n", setting.name, setting.example, setting.meaning);
            assert!(page.contains(&row), "docs/real-hosts.md lacks:\n{row}");
        }
    }

    #[test]
    fn parameters_find_their_transport_in_any_order() {
        let settings = [("transport.token_lifetime", "100000"), ("transport", "phost")];
        let config = Config::from_settings(settings).expect("taken");
        assert_eq!(config.params, [("token_lifetime".to_string(), ParamValue::Float(1e5))]);
        let near = settings_error(&[("transport.token_lifetme", "1"), ("transport", "phost")]);
        assert!(near.ends_with("did you mean `transport.token_lifetime`?"), "{near}");
    }

    #[test]
    fn a_round_trip_that_is_given_is_not_measured() {
        let config = Config::from_settings([("round_trip", "20 us")]).expect("taken");
        assert_eq!((config.path.base_rtt, config.round_trip), (Time::us(20), RoundTrip::Given));
    }
}
