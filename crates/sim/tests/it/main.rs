//! The integration tests of `headway-sim`, one module a subject, in one program that links once.

mod amrt;
mod common;
mod engine;
mod expresspass;
mod faults;
mod golden;
mod homa;
mod hosts;
mod initial_window;
mod mixtures;
mod motivation;
mod mptcp;
mod ndp;
mod ndp_htsim;
mod outages;
mod ports;
mod proactmp;
mod processors;
mod rcp;
mod retransmissions;
mod round_trips;
mod rpo;
mod stops;
mod tap;
mod tcp;
mod waiting;
