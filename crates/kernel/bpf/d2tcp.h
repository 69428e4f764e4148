/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* D2TCP's arithmetic: the urgency d in eighths, as a row of the table of powers. D2TCP 3.2 */
#ifndef HEADWAY_D2TCP_H
#define HEADWAY_D2TCP_H

#include "settings.h"

enum { PATIENT, URGENT, EXPIRED };

#define NEUTRAL 7u	/* the row of d = 1 */

/* With `left` packets to send, and `time_us` to the deadline, 0 once it has passed. */
static inline u32 d2tcp_row(const struct settings *set, u32 left, u32 cwnd, u32 srtt_us, u64 time_us)
{
	u64 needed, available, eighths;

	if (!time_us)
		return set->urgency[EXPIRED];
	/* d = left / (3/4 cwnd) round trips over the time, to the nearest eighth */
	needed = (u64)(left < 1u << 28 ? left : 1u << 28) * srtt_us * 32;
	available = (time_us < 1ull << 40 ? time_us : 1ull << 40) * 3 * (cwnd ? cwnd : 1);
	eighths = (needed + available / 2) / available;
	if (eighths <= set->urgency[PATIENT])
		return set->urgency[PATIENT];
	if (eighths > set->urgency[URGENT])
		return set->urgency[URGENT];
	return eighths - 1;
}

#endif
