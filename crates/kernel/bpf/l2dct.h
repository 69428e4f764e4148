/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* L2DCT's arithmetic: the row of the tables for the data that a connection has had acknowledged. L2DCT II-A */
#ifndef HEADWAY_L2DCT_H
#define HEADWAY_L2DCT_H

#include "settings.h"

static inline u32 l2dct_row(const struct settings *set, u64 sent)
{
	if (sent < set->young)
		return ROWS - 1;
	if (sent >= set->old)
		return 0;
	return ROWS - 1 - (u32)((ROWS - 1) * (sent - set->young) / (set->old - set->young));
}

#endif
