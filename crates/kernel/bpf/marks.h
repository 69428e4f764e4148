/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * DCTCP with the arithmetic and the echo of Linux (net/ipv4/tcp_dctcp.c), and two questions that a control answers by
 * itself: how much marks cost, and how fast a window grows. A file that includes this one answers them, and names the
 * control: REGISTER.
 */
#ifndef HEADWAY_MARKS_H
#define HEADWAY_MARKS_H

#include "machine.h"

/* The state of a connection. */
struct connection {
	struct common common;
	struct share share;
	u32 rcv_nxt;	/* as of the packet before */
	u32 ce;		/* whether that one was marked */
	u64 start_us;
};

/* The penalty for marks, in 1/1024. */
static inline u32 penalty(struct sock *sk);
/* What the window grows by in a round trip, in 1/1000 packets. */
static inline u32 increase(struct sock *sk);

static inline struct connection *connection(struct sock *sk)
{
	return (struct connection *)inet_csk(sk)->icsk_ca_priv;
}

static inline u64 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

static inline void restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	share_restart(&connection(sk)->share, tp->snd_nxt, tp->delivered, tp->delivered_ce);
}

/* Without ECN there is nothing to go by: Reno then, as in Linux. */
SEC("struct_ops/headway_start")
void headway_start(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *own = connection(sk);
	char reno[] = "reno";

	if (is_connected(sk))
		__sync_fetch_and_add(&settings.about.connections, 1);
	if (!(tp->ecn_flags & TCP_ECN_OK) && is_connected(sk)) {
		__sync_fetch_and_add(&settings.about.fallbacks, 1);
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	own->rcv_nxt = tp->rcv_nxt;
	own->ce = 0;
	own->start_us = now_us();
	own->share.alpha = settings.alpha;
	if (!settings.slow_start)
		tp->snd_ssthresh = tp->snd_cwnd;
	start_common(sk);
	restart(sk);
}

SEC("struct_ops/headway_acked")
void headway_acked(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	struct tcp_sock *tp = tcp_sk(sk);

	share_count(&connection(sk)->share, &settings, tp->snd_una, tp->snd_nxt, tp->delivered, tp->delivered_ce);
}

SEC("struct_ops/headway_marked")
u32 headway_marked(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	common(sk)->loss_cwnd = cwnd;
	return cut(&settings, cwnd, penalty(sk));
}

static inline u32 threshold(struct sock *sk, u32 cwnd)
{
	return cut(&settings, cwnd, penalty(sk));
}

static inline u32 growth(struct sock *sk, struct window *window, u32 packets, u32 reducing)
{
	return uses_its_window(tcp_sk(sk)) ? increase(sk) : 0;
}

static inline void halve(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	common(sk)->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = half(tp->snd_cwnd);
}

SEC("struct_ops/headway_state")
void headway_state(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];

	if ((u8)args[1] == TCP_CA_RECOVERY && BITS(inet_csk(sk), icsk_ca_state) != TCP_CA_RECOVERY)
		halve(sk);
}

static inline void echo(struct tcp_sock *tp, u32 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* An acknowledgement says of all packets that it answers whether they were marked. RFC 8257 3.2 */
static inline void arrived(struct sock *sk, u32 ce)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *own = connection(sk);

	if (own->ce != ce) {
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, own->ce);
			bpf_tcp_send_ack(tp, own->rcv_nxt);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	own->rcv_nxt = tp->rcv_nxt;
	own->ce = ce;
	echo(tp, ce);
}

SEC("struct_ops/headway_event")
void headway_event(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];

	switch ((u32)args[1]) {
	case CA_EVENT_ECN_IS_CE:
		arrived(sk, 1);
		break;
	case CA_EVENT_ECN_NO_CE:
		arrived(sk, 0);
		break;
	case CA_EVENT_LOSS:
		halve(sk);
		break;
	}
}

#define REGISTER(control) \
	SEC(".struct_ops.link") \
	struct tcp_congestion_ops control = { \
		.name = #control, \
		.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED, \
		.init = (void *)headway_start, \
		.in_ack_event = (void *)headway_acked, \
		.ssthresh = (void *)headway_marked, \
		.cong_control = (void *)headway_decide, \
		.set_state = (void *)headway_state, \
		.cwnd_event = (void *)headway_event, \
		.undo_cwnd = (void *)headway_undo, \
	}

#endif
