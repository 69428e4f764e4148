//! The program that hands an interface's frames to its socket: loaded, attached, and gone with this process.

use crate::InterfaceError;
use crate::interface::names::is_veth;
use aya::maps::XskMap;
use aya::programs::{Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};
use std::error::Error;
use std::io;
use std::os::fd::RawFd;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Bytes that are aligned as an object file is to be.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);
/// Compiled form of `bpf/redirect.bpf.c`.
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("../../../bpf/objects/redirect.bpf.o"));

/// Loads the program for every interface. A loader begins by reading the types of the whole kernel, megabytes of them, which
/// takes longer than all else that is done for an interface. The program does not refer to any.
static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

/// An attached program. The kernel detaches it when its descriptor is closed, also after `kill -9`.
pub(super) struct Redirect {
    _loaded: Ebpf,
    native: bool,
}

impl Redirect {
    /// Has frames of an interface go to `socket`, which is bound to its only queue.
    pub(super) fn attach(name: &str, index: u32, socket: RawFd) -> Result<Redirect, InterfaceError> {
        let fail = |why: String| InterfaceError::NoAfXdp { name: name.into(), why };
        let mut loader = LOADER.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = loader.load(&OBJECT.0).map_err(|error| fail(clause(&error)))?;
        drop(loader);
        let broken = || fail("the committed program lacks its map or its entry".into());
        let map = loaded.map_mut("sockets").ok_or_else(broken)?;
        let refused = |error: &(dyn Error + 'static)| fail(clause(error));
        let mut sockets = XskMap::try_from(map).map_err(|e| refused(&e))?;
        sockets.set(0, socket, 0).map_err(|e| refused(&e))?;
        let program = loaded.program_mut("redirect").ok_or_else(broken)?;
        let program: &mut Xdp = program.try_into().map_err(|e| refused(&e))?;
        program.load().map_err(|e| refused(&e))?;
        // Between veth interfaces the kernel's own receive path is the faster one, and has room for four times as long
        // a burst as the driver.
        let veth = is_veth(name).map_err(|e| refused(&e))?;
        let first = if veth { XdpMode::Skb } else { XdpMode::Driver };
        let mut native = !veth;
        if let Err(error) = program.attach_to_if_index(index, first) {
            if veth {
                return Err(refused(&error));
            }
            native = false;
            let both = |second| format!("{}; without its driver: {}", clause(&error), clause(&second));
            program.attach_to_if_index(index, XdpMode::Skb).map_err(|second| fail(both(second)))?;
        }
        Ok(Redirect { _loaded: loaded, native })
    }

    /// True if it runs in the interface's driver.
    pub(super) fn is_native(&self) -> bool {
        self.native
    }
}

/// The innermost reason, in words that say what to do where that is known.
fn clause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let code = innermost.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    match code {
        Some(libc::EPERM | libc::EACCES) => {
            "loading its program needs the privileges CAP_BPF and CAP_NET_ADMIN, \
             outside of any user namespace: run as root"
                .into()
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            "another XDP program is attached to it: `ip link set dev NAME xdp off`".into()
        }
        Some(libc::ENOSYS) => "the kernel has no BPF (CONFIG_BPF_SYSCALL)".into(),
        _ => format!("{error}: {innermost}"),
    }
}
