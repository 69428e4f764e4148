//! Ctrl-C, and what service managers send instead.

use crate::error::PerfError;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first signal is a wish, and the second ends the program.
pub(crate) fn install_handlers() -> Result<(), PerfError> {
    let handler = || {
        if ASKED.swap(true, Ordering::SeqCst) {
            // 128 and the number of SIGINT, as shells report it.
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| PerfError::io_error("handling signals")(io::Error::other(error)))
}

/// True if a stop was requested.
pub(crate) fn stop_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
