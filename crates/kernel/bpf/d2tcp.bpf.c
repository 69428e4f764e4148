/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* D2TCP: DCTCP whose cut is gentler the nearer a deadline is. B. Vamanan et al., SIGCOMM 2012 */
#include "marks.h"
#include "d2tcp.h"

/* Packets that are not acknowledged yet: of the message, or else of what the application has written. */
static inline u32 left(struct tcp_sock *tp)
{
	u64 bytes = tp->write_seq - tp->snd_una;
	u32 mss = tp->mss_cache ? tp->mss_cache : 1;

	if (settings.bytes)
		bytes = settings.bytes > tp->bytes_acked ? settings.bytes - tp->bytes_acked : 0;
	return (bytes + mss - 1) / mss;
}

static inline u32 urgency(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 passed = now_us() - connection(sk)->start_us;
	u64 time = settings.deadline_us > passed ? settings.deadline_us - passed : 0;

	if (!settings.deadline_us)
		return NEUTRAL;
	return d2tcp_row(&settings, left(tp), tp->snd_cwnd, tp->srtt_us >> 3, time);
}

static inline u32 penalty(struct sock *sk)
{
	return power(&settings, urgency(sk), connection(sk)->share.alpha);
}

static inline u32 increase(struct sock *sk)
{
	return PACKET;
}

REGISTER(d2tcp);
