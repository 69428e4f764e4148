//! The congestion controls in the running kernel.

#![allow(clippy::disallowed_methods, reason = "the kernel is reached through files")]

use crate::control::Control;
use crate::error::KernelError;
use crate::settings::{About, Live, Settings};
use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::{Btf, HasSize};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Directory of pinned controls.
const PINS: &str = "/sys/fs/bpf/headway";
/// The kernel's description of its own types.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Names of all congestion controls that are there.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Name of the program whose processes hold congestion controls.
const PROGRAM: &str = "headway-kernel";
/// The longest name; Linux has 16 bytes, of which one ends it.
const NAME_BYTES: usize = 15;
/// Warnings of libbpf.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// One that is loaded, for as long as the value lives or, pinned, until it is unloaded.
#[derive(Debug)]
pub struct Loaded {
    link: Link,
    _object: Object,
}

/// One that is registered from BPF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the control, with its suffix.
    pub name: String,
    /// The control it is made from.
    pub control: String,
    /// Processes that hold it: identity and name.
    pub processes: Vec<(i32, String)>,
    /// Path at which it is pinned.
    pub pin: Option<PathBuf>,
}

/// Checks for the kernel's prerequisites; the error names the missing one.
pub fn available() -> Result<(), KernelError> {
    let missing = |what: &str| Err(KernelError::Missing(what.into()));
    if let Some(lacking) = lacking_privileges() {
        return missing(&lacking);
    }
    if !Path::new(KERNEL_TYPES).exists() {
        return missing(&format!(
            "a kernel that describes its types: this one has no {KERNEL_TYPES} (CONFIG_DEBUG_INFO_BTF)"
        ));
    }
    layout().map(|_| ())
}

/// Capabilities for loading: CAP_NET_ADMIN, and CAP_BPF and CAP_PERFMON or, on its own, CAP_SYS_ADMIN. linux/capability.h
const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");
const PERFMON: (u32, &str) = (38, "CAP_PERFMON");
const BPF: (u32, &str) = (39, "CAP_BPF");

/// The privileges that this process lacks, in a sentence. Who it is does not matter.
fn lacking_privileges() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let has = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())?;
    lacking(has)
}

fn lacking(has: u64) -> Option<String> {
    let lacks = |(bit, _): &(u32, &str)| has >> bit & 1 == 0;
    // CAP_SYS_ADMIN includes the other two on every kernel; since Linux 5.8 they exist on their own.
    let wanted = if lacks(&SYS_ADMIN) { &[NET_ADMIN, BPF, PERFMON][..] } else { &[NET_ADMIN][..] };
    let names: Vec<&str> = wanted.iter().filter(|one| lacks(one)).map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: it loads programs into the kernel; root has them, unless a container takes them away",
            names.join(", ")
        )
    })
}

/// Loads one, under its name and `suffix`.
pub fn load(
    control: Control,
    settings: &Settings,
    suffix: &str,
    pin: bool,
) -> Result<(String, Loaded), KernelError> {
    available()?;
    let name = named(control, suffix)?;
    // Before the program is loaded: without a file system for pins nothing should be registered.
    let pin = pin.then(|| pin_path(&name)).transpose()?;
    let refused = |error: libbpf_rs::Error| refusal(control, &name, &error);
    // Kept instead of printed: the verifier's log is many lines, of which the last ones say why.
    libbpf_rs::set_print(Some((PrintLevel::Warn, remember)));
    // Warnings of an earlier attempt do not belong to this one.
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let mut open = ObjectBuilder::default().open_memory(control.compiled_object()).map_err(refused)?;
    for mut map in open.maps_mut() {
        if map.name() == control.name() {
            let value = map.initial_value_mut().ok_or_else(|| damaged(control, "no congestion control"))?;
            // The first field of `struct tcp_congestion_ops` in `bpf/kernel.h`.
            value[..name.len()].copy_from_slice(name.as_bytes());
            // The object's own name may be longer than the one that it gets.
            value[name.len()..=NAME_BYTES].fill(0);
        } else if map.name().to_string_lossy().ends_with(".bss") {
            let bytes = settings.to_bytes_as(&name);
            map.set_initial_value(&bytes).map_err(|_| damaged(control, "settings of another size"))?;
        }
    }
    let mut object = open.load().map_err(refused)?;
    let mut map = object.maps_mut().find(|map| map.name() == control.name());
    let map = map.as_mut().ok_or_else(|| damaged(control, "no congestion control"))?;
    let mut link = map.attach_struct_ops().map_err(refused)?;
    if let Some(path) = pin {
        link.pin(&path)
            .map_err(|error| KernelError::refused_step(format!("pinning {}", path.display()), error))?;
    }
    Ok((name, Loaded { link, _object: object }))
}

impl Loaded {
    /// Path of the pin, if it stays loaded when this value is dropped.
    pub fn pinned(&self) -> Option<PathBuf> {
        self.link.pin_path()
    }
}

fn named(control: Control, suffix: &str) -> Result<String, KernelError> {
    let name = format!("{}{suffix}", control.name());
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() > NAME_BYTES || !name.chars().all(good) {
        return Err(KernelError::BadName(name));
    }
    // Asked beforehand for the sake of the message: the kernel only answers EEXIST, which `kernel_refusal` reads as
    // well.
    if registered(&name)? { Err(KernelError::NameTaken(name)) } else { Ok(name) }
}

/// True if the kernel has a congestion control of that name.
pub fn registered(name: &str) -> Result<bool, KernelError> {
    let all = fs::read_to_string(AVAILABLE).map_err(|error| KernelError::refused_step(AVAILABLE, error))?;
    Ok(all.split_whitespace().any(|one| one == name))
}

fn pin_path(name: &str) -> Result<PathBuf, KernelError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if !mounts.lines().any(|line| line.split(' ').nth(1) == Some("/sys/fs/bpf")) {
        return Err(KernelError::Missing(
            "the BPF file system for --pin: mount -t bpf bpf /sys/fs/bpf".into(),
        ));
    }
    fs::create_dir_all(PINS).map_err(|error| KernelError::refused_step(PINS, error))?;
    Ok(Path::new(PINS).join(name))
}

fn remember(_: PrintLevel, line: String) {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

fn damaged(control: Control, what: &str) -> KernelError {
    KernelError::refused_step(format!("the object of {}", control.name()), format!("it has {what}"))
}

/// The kernel's answer with what libbpf has said of it, in a sentence.
fn refusal(control: Control, name: &str, error: &libbpf_rs::Error) -> KernelError {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match error.kind() {
        ErrorKind::PermissionDenied => KernelError::Missing(
            "the privileges CAP_BPF and CAP_NET_ADMIN: root does not have them here, as in a container"
                .into(),
        ),
        ErrorKind::AlreadyExists => KernelError::NameTaken(name.into()),
        _ => {
            let warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
            let last = warnings.iter().rev().flat_map(|text| text.lines().rev()).map(str::trim);
            let told = last.filter(|line| !line.is_empty()).take(3).collect::<Vec<_>>().join("; ");
            KernelError::refused_step(
                format!("loading {} into Linux {} (6.4 or newer is needed)", control.name(), release.trim()),
                format!("{error}{}{told}", if told.is_empty() { "" } else { ": " }),
            )
        }
    }
}

/// Position at which the kernel keeps the name of a congestion control in what BPF has given it, and the type of that.
fn layout() -> Result<(u32, usize), KernelError> {
    let missing = || {
        KernelError::Missing(
            "a kernel that takes congestion controls from BPF (struct_ops, CONFIG_BPF_JIT): this one does not".into(),
        )
    };
    let types = Btf::from_vmlinux().map_err(|error| KernelError::refused_step(KERNEL_TYPES, error))?;
    let value: Struct<'_> = types.type_by_name("bpf_struct_ops_tcp_congestion_ops").ok_or_else(missing)?;
    let ops: Struct<'_> = types.type_by_name("tcp_congestion_ops").ok_or_else(missing)?;
    let offset = |of: &Struct<'_>, field: &str| {
        let member = of.iter().find(|member| member.name.is_some_and(|name| name == field))?;
        match member.attr {
            libbpf_rs::btf::types::MemberAttr::Normal { offset } => Some(offset as usize / 8),
            libbpf_rs::btf::types::MemberAttr::BitField { .. } => None,
        }
    };
    let start = offset(&value, "data").ok_or_else(missing)?;
    let name = start + offset(&ops, "name").ok_or_else(missing)?;
    // A kernel that describes its types otherwise than it uses them must not make this read beyond the value.
    if name + NAME_BYTES >= value.size() {
        return Err(missing());
    }
    Ok(((*value).type_id().into(), name))
}

/// All that are registered from BPF, by this program or another.
pub fn list() -> Result<Vec<Entry>, KernelError> {
    available()?;
    let (kind, offset) = layout()?;
    let mut found = Vec::new();
    for link in LinkInfoIter::default() {
        let LinkTypeInfo::StructOps(ops) = link.info else { continue };
        let Some(map) = MapInfoIter::default().find(|map| map.id == ops.map_id) else { continue };
        // Other parts of the kernel take struct_ops too.
        if map.btf_vmlinux_value_type_id != kind {
            continue;
        }
        // A control that is unloaded during this look-up counts as absent.
        let value = MapHandle::from_map_id(map.id).and_then(|map| map.lookup(&[0; 4], MapFlags::empty()));
        let Ok(Some(value)) = value else { continue };
        let name = value[offset..=offset + NAME_BYTES].split(|&byte| byte == 0).next().unwrap_or_default();
        found.push(Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            control: map.name.to_string_lossy().into_owned(),
            processes: holders(link.id),
            pin: pinned(link.id),
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// A program in the kernel's memory, registered or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Description in the program's memory.
    pub about: About,
    /// Settings of the program.
    pub live: Live,
    /// Number of the map that says so, which tells programs of one name apart.
    pub map: u32,
}

/// All programs of this crate that the kernel still has: those that are registered, and those of before which connections or the
/// settings of network namespaces keep.
pub fn programs() -> Result<Vec<Program>, KernelError> {
    available()?;
    let mut found = Vec::new();
    for map in MapInfoIter::default() {
        if !map.name.to_string_lossy().ends_with(".bss") {
            continue;
        }
        let value = MapHandle::from_map_id(map.id).and_then(|map| map.lookup(&[0; 4], MapFlags::empty()));
        let Ok(Some(value)) = value else { continue };
        if let (Some(about), Some(live)) = (About::from_memory(&value), Live::from_memory(&value)) {
            found.push(Program { about, live, map: map.id });
        }
    }
    // The newest of one name last.
    found.sort_by(|one, other| (&one.about.name, one.map).cmp(&(&other.about.name, other.map)));
    Ok(found)
}

/// Names of programs that are kept although another has their name, or none: how many of each.
pub fn kept(programs: &[Program], registered: &[Entry]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for program in programs {
        match counts.iter_mut().find(|(name, _)| *name == program.about.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((program.about.name.clone(), 1)),
        }
    }
    for (name, count) in &mut counts {
        *count -= usize::from(registered.iter().any(|entry| entry.name == *name)).min(*count);
    }
    counts.retain(|(_, count)| *count > 0);
    counts
}

/// Network namespaces whose new connections get this congestion control: a process in each. Only namespaces that this process may
/// look into.
pub fn namespaces_with(name: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut seen = std::collections::BTreeSet::new();
    let mut found = Vec::new();
    for pid in pids {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/net")) else { continue };
        // Thousands of processes may share one namespace, and each look takes a thread.
        if !seen.insert(namespace) {
            continue;
        }
        // The setting is that of the namespace of whoever reads it.
        let reads = || -> Option<String> {
            let file = fs::File::open(format!("/proc/{pid}/ns/net")).ok()?;
            // A thread of its own, which enters the namespace and ends: the namespace is a property of the
            // thread.
            let thread = std::thread::spawn(move || {
                nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).ok()?;
                fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()
            });
            thread.join().ok()?
        };
        if reads().is_some_and(|control| control.trim() == name) {
            found.push(pid);
        }
    }
    found
}

/// Processes that hold a link open.
fn holders(link: u32) -> Vec<(i32, String)> {
    let wanted = format!("link_id:\t{link}");
    let holds = |pid: &i32| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return false };
        let mut texts = files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.any(|text| text.lines().any(|line| line == wanted))
    };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // This process has opened the link itself, to read its properties.
    let own = std::process::id() as i32;
    let held = pids.filter(|&pid| pid != own).filter(holds);
    held.map(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (pid, name.trim().to_string())
    })
    .collect()
}

fn pinned(link: u32) -> Option<PathBuf> {
    let pins = fs::read_dir(PINS).ok()?;
    pins.flatten()
        .map(|entry| entry.path())
        .find(|path| Link::open(path).and_then(|open| open.info()).is_ok_and(|info| info.id == link))
}

/// Takes one away: removes its pin, and ends the process that holds it. Connections that use it keep it until they
/// end.
pub fn unload(name: &str) -> Result<(), KernelError> {
    let entries = list()?;
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let hint = if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) };
        return Err(KernelError::NotLoaded { name: name.into(), hint });
    };
    if let Some((pid, holder)) = entry.processes.iter().find(|(_, holder)| holder != PROGRAM) {
        return Err(KernelError::Foreign { name: name.into(), holder: format!("process {pid} ({holder})") });
    }
    // A link lives by a process or a pin, and neither was found.
    if entry.processes.is_empty() && entry.pin.is_none() {
        let holder = "a pin outside of /sys/fs/bpf/headway".into();
        return Err(KernelError::Foreign { name: name.into(), holder });
    }
    if let Some(path) = &entry.pin {
        // Before processes are ended: as long as there is a pin, the link does not go with them.
        fs::remove_file(path)
            .map_err(|error| KernelError::refused_step(path.display().to_string(), error))?;
    }
    for (pid, _) in &entry.processes {
        kill(Pid::from_raw(*pid), Signal::SIGTERM)
            .map_err(|error| KernelError::refused_step(format!("ending process {pid}"), error))?;
    }
    // The kernel drops the link when the process has ended, which takes a moment from the signal on.
    for _ in 0..500 {
        if !registered(name)? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(KernelError::refused_step(format!("unloading {name}"), "it is still registered after 5 s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_are_asked_for_by_name() {
        assert_eq!(lacking(u64::MAX), None);
        assert_eq!(lacking(1 << 12 | 1 << 38 | 1 << 39), None, "no need to be root");
        assert_eq!(lacking(1 << 12 | 1 << 21), None, "before CAP_BPF there was this one");
        let said = lacking(1 << 39).expect("two are missing");
        assert!(said.starts_with("CAP_NET_ADMIN, CAP_PERFMON: "), "{said}");
    }

    #[test]
    fn what_is_kept_beside_what_is_registered_is_counted() {
        let settings = Control::Dctcp.settings(&[]).expect("good");
        let program = |name: &str, map| {
            let bytes = settings.to_bytes_as(name);
            let (about, live) =
                (About::from_memory(&bytes).expect("one"), Live::from_memory(&bytes).expect("one"));
            Program { about, live, map }
        };
        let entry = |name: &str| Entry {
            name: name.into(),
            control: "dctcp".into(),
            processes: Vec::new(),
            pin: None,
        };
        let programs = [program("dctcp", 1), program("dctcp", 2), program("dctcp_b", 3)];
        assert_eq!(
            kept(&programs, &[entry("dctcp")]),
            [("dctcp".to_string(), 1), ("dctcp_b".to_string(), 1)]
        );
        assert_eq!(kept(&programs[1..], &[entry("dctcp"), entry("dctcp_b")]), []);
    }
}
