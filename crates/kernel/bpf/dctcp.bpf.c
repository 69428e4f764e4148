/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* DCTCP: the window is cut by half of the share of packets that are marked. RFC 8257 */
#include "marks.h"

static inline u32 penalty(struct sock *sk)
{
	return connection(sk)->share.alpha;
}

static inline u32 increase(struct sock *sk)
{
	return PACKET;
}

REGISTER(dctcp);
