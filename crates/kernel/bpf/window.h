/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* DCTCP's arithmetic: the share of marked packets, and a window of whole packets. RFC 8257 */
#ifndef HEADWAY_WINDOW_H
#define HEADWAY_WINDOW_H

#include "settings.h"

struct share {
	u32 alpha;	/* the share in 1/1024 */
	u32 end;	/* sequence number at which the present window of data ends */
	u32 delivered;	/* packets delivered before it began */
	u32 marked;	/* marked ones among them */
};

/* What the kernel keeps of a window. */
struct window {
	u32 cwnd;
	u32 credit;	/* towards the next packet, in 1/1000 */
	u32 ssthresh;
	u32 clamp;
};

static inline int before(u32 one, u32 other)
{
	return (s32)(one - other) < 0;
}

static inline void share_restart(struct share *share, u32 next, u32 delivered, u32 marked)
{
	share->end = next;
	share->delivered = delivered;
	share->marked = marked;
}

/* An acknowledgement up to `una`; as in Linux, alpha falls to 0 once it is too small to be divided. */
static inline void share_count(struct share *share, const struct settings *set, u32 una, u32 next, u32 delivered,
			       u32 marked)
{
	u32 packets = delivered - share->delivered;
	u32 marks = marked - share->marked;
	u32 decay = share->alpha >> set->shift;

	if (before(una, share->end))
		return;
	share->alpha -= decay ? decay : share->alpha;
	if (marks) {
		marks = (marks << (10 - set->shift)) / (packets ? packets : 1);
		share->alpha = share->alpha + marks < UNIT ? share->alpha + marks : UNIT;
	}
	share_restart(share, next, delivered, marked);
}

/* Reno's growth with `increase` thousandths of a packet a round trip instead of a whole one. */
static inline void grow(struct window *window, u32 acked, u32 increase)
{
	u64 full = (u64)window->cwnd * PACKET;
	u64 credit = window->credit;

	if (window->cwnd < window->ssthresh) {
		u32 room = window->ssthresh - window->cwnd;

		room = acked < room ? acked : room;
		acked -= room;
		window->cwnd += room;
		full = (u64)window->cwnd * PACKET;
	}
	if (acked && full) {
		/* What was saved up for a larger window is spent gently. */
		if (credit >= full) {
			credit = 0;
			window->cwnd++;
		}
		credit += (u64)acked * increase;
		if (credit >= full) {
			window->cwnd += credit / full;
			credit %= full;
		}
		window->credit = credit < 0xffffffffu ? credit : 0xffffffffu;
	}
	if (window->cwnd > window->clamp)
		window->cwnd = window->clamp;
}

/* The window after marks, with the penalty in 1/1024. */
static inline u32 cut(const struct settings *set, u32 cwnd, u32 penalty)
{
	u32 left = cwnd - (u32)(((u64)cwnd * penalty) >> 11);

	return left > set->least ? left : set->least;
}

/* The window after a loss. */
static inline u32 half(u32 cwnd)
{
	return cwnd >> 1 > 2 ? cwnd >> 1 : 2;
}

#endif
