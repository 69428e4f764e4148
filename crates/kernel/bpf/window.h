/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* DCTCP's arithmetic: the share of marked packets, and a window of whole packets. RFC 8257 */
#ifndef HEADWAY_WINDOW_H
#define HEADWAY_WINDOW_H

#include "settings.h"

#define INFINITE 0x7fffffffu	/* the threshold of a connection without one */

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

/* Slow start for `acked` packets, up to the threshold; answers the packets that are left over. */
static inline u32 grow_slowly(struct window *window, u32 acked)
{
	u32 room;

	if (window->cwnd >= window->ssthresh)
		return acked;
	room = window->ssthresh - window->cwnd;
	room = acked < room ? acked : room;
	window->cwnd += room;
	return acked - room;
}

static inline void clamp(struct window *window)
{
	if (window->cwnd > window->clamp)
		window->cwnd = window->clamp;
}

/* Reno's growth with `increase` thousandths of a packet a round trip instead of a whole one. */
static inline void grow(struct window *window, u32 acked, u32 increase)
{
	u64 credit = window->credit, full;

	acked = grow_slowly(window, acked);
	full = (u64)window->cwnd * PACKET;
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
	clamp(window);
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

/* What a connection's own window has come to, beside what the kernel keeps of it. */
struct course {
	u32 cwnd;	/* the window, as of the acknowledgement before */
	u32 largest;	/* the largest window or threshold so far */
	u32 delivered;	/* packets delivered as of then */
	u32 reducing;	/* whether the window is being brought down to the threshold */
	u32 half;	/* a packet delivered that has not counted yet: two bring it down by one */
};

static inline void course_start(struct course *course, u32 cwnd, u32 ssthresh, u32 delivered)
{
	course->cwnd = cwnd;
	course->largest = ssthresh != INFINITE && ssthresh > cwnd ? ssthresh : cwnd;
	course->delivered = delivered;
	course->reducing = 0;
	course->half = 0;
}

/*
 * Puts back a window that nobody can have set, and says whether the threshold is one that somebody can. With `packets`
 * delivered since, neither is larger than the largest so far and those; a cut leaves at least a packet, and a loss two.
 */
static inline int course_believes(struct course *course, const struct settings *set, struct window *window, u32 packets)
{
	u32 most = course->largest + packets, least = set->least > 2 ? 2 : set->least;

	if (!window->cwnd || window->cwnd > most)
		window->cwnd = course->cwnd;
	return window->ssthresh == INFINITE || (window->ssthresh && window->ssthresh >= least && window->ssthresh <= most);
}

/* The window after an acknowledgement of `packets`; it may grow by `increase`, or not at all where that is 0. */
static inline void course_decide(struct course *course, struct window *window, u32 packets, u32 reducing, u32 increase)
{
	if (reducing) {
		u32 less = (packets + course->half) / 2;

		course->half = (packets + course->half) % 2;
		if (window->cwnd > window->ssthresh)
			window->cwnd -= less < window->cwnd - window->ssthresh ? less : window->cwnd - window->ssthresh;
	} else if (course->reducing && window->cwnd > window->ssthresh) {
		window->cwnd = window->ssthresh;
	} else if (packets && increase) {
		grow(window, packets, increase);
	}
	course->reducing = reducing;
	course->cwnd = window->cwnd;
	if (course->cwnd > course->largest)
		course->largest = course->cwnd;
}

#endif
