/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* L2DCT: DCTCP in which young connections grow faster and back off less than old ones. A. Munir et al., INFOCOM 2013 */
#include "marks.h"
#include "l2dct.h"

static inline u32 penalty(struct sock *sk)
{
	u32 row = l2dct_row(&settings, tcp_sk(sk)->bytes_acked);

	return power(&settings, row, connection(sk)->share.alpha);
}

static inline u32 increase(struct sock *sk)
{
	u32 row = l2dct_row(&settings, tcp_sk(sk)->bytes_acked);

	return row < ROWS ? settings.increase[row] : PACKET;
}

REGISTER(l2dct);
