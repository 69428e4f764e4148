/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* What the loader fills in. src/settings.rs has the same fields in the same order. */
#ifndef HEADWAY_SETTINGS_H
#define HEADWAY_SETTINGS_H

#include "types.h"

#define UNIT 1024u	/* one in the marked share and its powers */
#define PACKET 1000u	/* a packet a round trip, in what a window grows by */
#define ROWS 20u	/* exponents of the table of powers */

/* What the program is, and what it has counted: `headway kernel list` and `show` read it. */
struct about {
	u64 magic;		/* says that this is one of these programs, with this layout */
	char name[16];		/* as it is registered */
	u64 connections;	/* that began with it */
	u64 fallbacks;		/* of these, which became Reno because their peer has no ECN */
};

struct settings {
	struct about about;
	u64 young;		/* L2DCT: bytes up to which the weight is the largest */
	u64 old;		/* L2DCT: bytes from which on it is the smallest */
	u64 deadline_us;	/* D2TCP: from the start of a connection; 0 = none */
	u64 bytes;		/* D2TCP: of a connection's message; 0 = what has been written */
	u32 shift;		/* the newest window counts 1 / 2^shift in the marked share */
	u32 alpha;		/* the share assumed at first */
	u32 least;		/* packets that a cut leaves */
	u32 slow_start;		/* whether a connection begins in slow start */
	u32 urgency[3];		/* D2TCP: rows of the smallest and largest d, and of a passed deadline */
	u32 queued[3];		/* Vegas: packets in the queue: too few, too many, and the end of slow start */
	u32 increase[ROWS];	/* what a window grows by in a round trip, a row */
	u16 power[ROWS][UNIT + 1]; /* alpha^exponent, a row */
};

/* A power of alpha, however far row and alpha are out of bounds. */
static inline u32 power(const struct settings *set, u32 row, u32 alpha)
{
	if (row >= ROWS)
		row = ROWS - 1;
	if (alpha > UNIT)
		alpha = UNIT;
	return set->power[row][alpha];
}

#endif
