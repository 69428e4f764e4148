//! What lets a packet leave: the window of NSCC at the sender, the credit of RCCC from the receiver, or both.

pub(super) mod nscc;
pub(super) mod rccc;
pub(super) mod uplinks;
