//! L2DCT, DCTCP, D2TCP and Vegas as congestion controls of the Linux kernel.
//!
//! The programs are C for BPF (`bpf/`, compiled in `bpf/objects/`); the kernel takes them as `tcp_congestion_ops`
//! (struct_ops). Their weights and powers are filled in by [`settings`], from the same code as the machines of
//! `headway-transport`. [`registry`] loads, lists and unloads them.

pub mod control;
pub mod error;
pub mod lines;
pub mod params;
pub mod settings;

#[cfg(all(target_os = "linux", feature = "load"))]
pub mod marker;
#[cfg(all(target_os = "linux", feature = "load"))]
pub mod registry;

pub use control::Control;
pub use error::KernelError;
pub use settings::Settings;
