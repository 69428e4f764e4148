//! Marks on an interface whose queue is long, as by a switch with ECN, for a Linux machine that forwards.

use crate::error::KernelError;
use libbpf_rs::libbpf_sys::{bpf_tc_hook, bpf_tc_hook_create};
use libbpf_rs::{Object, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};
use std::io;
use std::os::fd::AsFd;

/// The compiled program.
const OBJECT: &[u8] = include_bytes!("../bpf/objects/mark.bpf.o");

/// An interface that marks, for as long as the value lives.
pub struct Marker {
    hook: TcHook,
    /// True if the interface had no `clsact` before.
    made: bool,
    _object: Object,
}

impl Marker {
    /// Marks packets that leave by `interface` while `threshold` packets or more wait there.
    pub fn new(interface: &str, threshold: u32) -> Result<Marker, KernelError> {
        crate::registry::available()?;
        let step = || format!("marking on {interface}");
        let index = nix::net::if_::if_nametoindex(interface).map_err(|_| {
            KernelError::refused_step(step(), "there is no such interface in this network namespace")
        })?;
        let refused = |error: libbpf_rs::Error| KernelError::refused_step(step(), error);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(refused)?;
        // The map's name begins with that of the object, cut to what the kernel allows.
        let settings = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let mut settings =
            settings.ok_or_else(|| KernelError::refused_step(step(), "its object has no threshold"))?;
        settings.set_initial_value(&threshold.to_ne_bytes()).map_err(refused)?;
        // After the threshold is set: initial values can only be given before the object is loaded.
        let object = open.load().map_err(refused)?;
        let program = object.progs().next();
        let program =
            program.ok_or_else(|| KernelError::refused_step(step(), "its object has no program"))?;
        let hook = TcHookBuilder::new(program.as_fd())
            .ifindex(index as i32)
            // A marker that was killed has left its program behind under the same handle and priority.
            .replace(true)
            .handle(1)
            .priority(1)
            .hook(TC_EGRESS);
        let made = make_clsact(index as i32).map_err(|error| KernelError::refused_step(step(), error))?;
        // Made before the program is attached: if that fails, `drop` takes the `clsact` away again.
        let mut marker = Marker { hook, made, _object: object };
        marker.hook.attach().map_err(refused)?;
        Ok(marker)
    }
}

/// Gives an interface the queueing discipline that holds programs, `clsact`; returns true if it had none.
#[allow(unsafe_code, reason = "the library's own function does not say whether it made one")]
fn make_clsact(index: i32) -> io::Result<bool> {
    let mut hook = bpf_tc_hook {
        sz: size_of::<bpf_tc_hook>() as _,
        ifindex: index,
        attach_point: TC_EGRESS,
        ..bpf_tc_hook::default()
    };
    // SAFETY: the hook says how large it is, and lives until the call returns.
    match -unsafe { bpf_tc_hook_create(&mut hook) } {
        0 => Ok(true),
        number if number == nix::errno::Errno::EEXIST as i32 => Ok(false),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // An interface that has gone marks no more.
        let _ = self.hook.detach();
        // A `clsact` that was there before may hold programs of others.
        if self.made {
            let _ = self.hook.attach_point(TC_INGRESS | TC_EGRESS).destroy();
        }
    }
}
