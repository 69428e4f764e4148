//! The integration tests of `headway-transport`, one module a subject, in one program that links once.

use headway_harness as harness;

#[path = "../../src/amrt/script.rs"]
mod amrt_script;
mod contract;
#[path = "../../src/dcpim/script.rs"]
mod dcpim_script;
mod dissector;
#[path = "../../src/eqds/script.rs"]
mod eqds_script;
#[path = "../../src/expresspass/script.rs"]
mod expresspass_script;
#[path = "../../src/homa/script.rs"]
mod homa_script;
mod limits;
#[path = "../../src/mptcp/script.rs"]
mod mptcp_script;
#[path = "../../src/ndp/script.rs"]
mod ndp_script;
mod packets;
mod phost_network;
#[path = "../../src/phost/script.rs"]
mod phost_script;
#[path = "../../src/proactmp/script.rs"]
mod proactmp_script;
mod properties;
#[path = "../../src/rcp/script.rs"]
mod rcp_script;
#[path = "../../src/roce/script.rs"]
mod roce_script;
#[path = "../../src/rpo/script.rs"]
mod rpo_script;
mod script;
mod sequences;
#[path = "../../src/sird/script.rs"]
mod sird_script;
mod tables;
#[path = "../../src/tcp/script.rs"]
mod tcp_script;
#[path = "../../src/uet/script.rs"]
mod uet_script;
mod views;
mod watch;
