/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Vegas: the window holds a few packets in the queue; marks mean nothing to it. L. Brakmo and L. Peterson, JSAC 1995 */
#include "machine.h"
#include "vegas.h"

struct connection {
	struct common common;
	struct vegas vegas;
	u32 una;	/* as of the acknowledgement before */
};

static inline struct connection *connection(struct sock *sk)
{
	return (struct connection *)inet_csk(sk)->icsk_ca_priv;
}

SEC("struct_ops/headway_start")
void headway_start(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	struct tcp_sock *tp = tcp_sk(sk);

	if (is_connected(sk))
		__sync_fetch_and_add(&settings.about.connections, 1);

	start_common(sk);
	vegas_start(&connection(sk)->vegas, tp->snd_nxt);
	connection(sk)->una = tp->snd_una;
}

SEC("struct_ops/headway_sample")
void headway_sample(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	const struct ack_sample *sample = (const struct ack_sample *)args[1];

	if (sample->rtt_us >= 0)
		vegas_sample(&connection(sk)->vegas, sample->rtt_us);
}

SEC("struct_ops/headway_lost")
u32 headway_lost(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	common(sk)->loss_cwnd = cwnd;
	return half(cwnd);
}

static inline u32 threshold(struct sock *sk, u32 cwnd)
{
	return half(cwnd);
}

/* A round that begins or ends in a reduction says nothing of the queue. */
static inline u32 growth(struct sock *sk, struct window *window, u32 packets, u32 reducing)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *own = connection(sk);
	u32 state = BITS(inet_csk(sk), icsk_ca_state), repairing = reducing || own->common.course.reducing;
	u32 open = !repairing && state < TCP_CA_CWR, acked = tp->snd_una != own->una;
	u32 decision = vegas_acknowledged(&own->vegas, &settings, window, tp->snd_una, tp->snd_nxt, acked, open);

	own->una = tp->snd_una;
	if (!repairing && packets && uses_its_window(tp))
		vegas_grow(window, decision, packets);
	tp->snd_ssthresh = window->ssthresh;
	return 0;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas = {
	.name = "vegas",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)headway_start,
	.pkts_acked = (void *)headway_sample,
	.ssthresh = (void *)headway_lost,
	.cong_control = (void *)headway_decide,
	.undo_cwnd = (void *)headway_undo,
};
