/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Vegas's arithmetic: the packets in the queue, counted from the round trip. L. Brakmo and L. Peterson, JSAC 1995, III */
#ifndef HEADWAY_VEGAS_H
#define HEADWAY_VEGAS_H

#include "window.h"

enum { ALPHA, BETA, GAMMA };	/* of the settings */
enum { HOLD, MORE, RENO };	/* what an acknowledgement is told to do */

#define FEW 2u		/* samples that a round must have more than, for its smallest to mean something */
#define NEVER 0xffffffffu

struct vegas {
	u32 base;	/* the smallest round trip of the connection, in microseconds */
	u32 smallest;	/* that of this round, */
	u32 samples;	/* and how many there were */
	u32 end;	/* sequence number at which the round ends */
};

static inline void vegas_restart(struct vegas *vegas, u32 next)
{
	vegas->smallest = NEVER;
	vegas->samples = 0;
	vegas->end = next;
}

static inline void vegas_start(struct vegas *vegas, u32 next)
{
	vegas->base = NEVER;
	vegas_restart(vegas, next);
}

/* A round trip that was measured; never 0, so that it can divide. */
static inline void vegas_sample(struct vegas *vegas, u32 rtt_us)
{
	if (!rtt_us)
		rtt_us = 1;
	if (rtt_us < vegas->base)
		vegas->base = rtt_us;
	if (rtt_us < vegas->smallest)
		vegas->smallest = rtt_us;
	vegas->samples++;
}

/* At the end of a round: a packet more or less, and the end of slow start. */
static inline u32 vegas_decide(const struct vegas *vegas, const struct settings *set, struct window *window)
{
	u32 base = vegas->base, rtt = vegas->smallest, cwnd = window->cwnd, decision = HOLD, least;
	u64 excess;

	if (vegas->samples <= FEW || !base || !rtt || rtt < base)
		return RENO;
	excess = (u64)cwnd * (rtt - base) / base;
	if (cwnd < window->ssthresh) {
		if (excess > set->queued[GAMMA]) {
			u64 fits = (u64)cwnd * base / rtt + 1;

			window->cwnd = fits < cwnd ? fits : cwnd;
			if (window->cwnd < window->ssthresh)
				window->ssthresh = window->cwnd;
		}
	} else if (excess > set->queued[BETA]) {
		window->cwnd = cwnd - 1;
		if (window->cwnd < window->ssthresh)
			window->ssthresh = window->cwnd;
	} else if (excess < set->queued[ALPHA]) {
		decision = MORE;
	}
	if (window->cwnd < 2)
		window->cwnd = 2;
	least = (u64)window->cwnd * 3 / 4;
	if (window->ssthresh < least)
		window->ssthresh = least;
	return decision;
}

/* An acknowledgement up to `una`, of `acked` packets in a row; `open` while nothing is reduced or repaired. */
static inline u32 vegas_acknowledged(struct vegas *vegas, const struct settings *set, struct window *window, u32 una,
				     u32 next, u32 acked, u32 open)
{
	u32 decision = HOLD;

	if (!open) {
		vegas_restart(vegas, next);
	} else if (acked && !before(una, vegas->end)) {
		decision = vegas_decide(vegas, set, window);
		vegas_restart(vegas, next);
	}
	return decision;
}

/* Of a connection that uses all of its window. */
static inline void vegas_grow(struct window *window, u32 decision, u32 acked)
{
	if (decision == RENO) {
		grow(window, acked, PACKET);
		return;
	}
	if (decision == MORE)
		window->cwnd++;
	else
		grow_slowly(window, acked);
	clamp(window);
}

#endif
