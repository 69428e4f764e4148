//! Permission for packets to leave: the window of NSCC at the sender, the credit of RCCC from the receiver, or both.
//! Also the detection of losses where switches do not trim.

pub(super) mod nscc;
pub(super) mod rccc;
pub(super) mod sleek;
pub(super) mod uplinks;
