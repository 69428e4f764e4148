//! The process that bound an endpoint, which alone may use it.
//!
//! A fork copies the memory of an endpoint and shares its socket: both processes would count datagrams from the same number
//! under the same keys, and each would take in datagrams for the other. So every entrance asks whether it is in the
//! process that bound the endpoint.
//!
//! The kernel wipes one page of memory in the child at a fork, whichever call made it, and a look at the page takes no system call.
//! A process number does not do: `getpid` is a system call, and the first processes of two namespaces are both number 1.

#![allow(
    unsafe_code,
    reason = "a page that the kernel wipes at a fork, and descriptors that are closed by number"
)]

use crate::error::Forked;
use std::os::fd::RawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

/// The page: the mark of this process, 0 after a fork. Null before the first endpoint. It is never unmapped.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// The last mark that this process or one before it has had: a fork copies it, so that the child's is another.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The process that something belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    /// The one whose page has this mark.
    Marked(u64),
    /// The one with this number, on a kernel that wipes no pages (before Linux 4.14).
    Numbered(u32),
}

impl Owner {
    /// Owner for this process.
    pub(crate) fn this_process() -> Owner {
        let Some(page) = shared_page() else { return Owner::Numbered(std::process::id()) };
        // Taken even if the page has a mark: a gap in the numbers does no harm.
        let fresh = LAST.fetch_add(1, Relaxed) + 1;
        match page.compare_exchange(0, fresh, Relaxed, Relaxed) {
            Ok(_) => Owner::Marked(fresh),
            // Another endpoint of this process has set it.
            Err(mark) => Owner::Marked(mark),
        }
    }

    /// Returns an error if this process is another one.
    pub(crate) fn check_process(self) -> Result<(), Forked> {
        let is_this = match self {
            // Relaxed: the page is written once in each process, before any endpoint refers to it.
            Owner::Marked(mark) => known_page().is_some_and(|page| page.load(Relaxed) == mark),
            Owner::Numbered(number) => std::process::id() == number,
        };
        if is_this { Ok(()) } else { Err(Forked) }
    }
}

/// The page, if it is there.
fn known_page() -> Option<&'static AtomicU64> {
    // SAFETY: it is null, or to a page that is never unmapped and holds nothing else.
    unsafe { PAGE.load(Acquire).as_ref() }
}

/// The page, made if it is not there. No lock: a fork could leave one taken.
fn shared_page() -> Option<&'static AtomicU64> {
    if let Some(page) = known_page() {
        return Some(page);
    }
    let bytes = size_of::<AtomicU64>();
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping takes the place of none.
    let made = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
    if made == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping was made above, and nothing refers to it.
    let unmade = || unsafe { libc::munmap(made, bytes) };
    // SAFETY: the same.
    if unsafe { libc::madvise(made, bytes, libc::MADV_WIPEONFORK) } != 0 {
        unmade();
        return None;
    }
    if PAGE.compare_exchange(null_mut(), made.cast(), AcqRel, Acquire).is_err() {
        // Another thread was faster.
        unmade();
    }
    known_page()
}

/// Closes a descriptor that a fork has copied, even if this process's copy of memory still names it.
///
/// Its owner in this process must never close it.
pub(crate) fn close_descriptor(fd: RawFd) {
    // SAFETY: a number that is not a descriptor is refused.
    unsafe { libc::close(fd) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_this_one_and_no_other_is() {
        let owner = Owner::this_process();
        assert_eq!(owner.check_process(), Ok(()));
        assert_eq!(Owner::this_process().check_process(), Ok(()));
        let Owner::Marked(mark) = owner else { panic!("this kernel wipes no pages at a fork") };
        assert_eq!(Owner::Marked(mark + 1).check_process(), Err(Forked));
        assert_eq!(Owner::Numbered(std::process::id()).check_process(), Ok(()));
        assert_eq!(Owner::Numbered(std::process::id() + 1).check_process(), Err(Forked));
    }
}
