/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * What every control shares: the window is set in one place, is paced, and comes back if a loss was none. A file that
 * includes this one says what a connection keeps, to what the window is cut and how it grows, and names the control.
 */
#ifndef HEADWAY_MACHINE_H
#define HEADWAY_MACHINE_H

#include "kernel.h"
#include "window.h"

/* Filled in by the loader. Not constant, so that the object holds no zeros. */
struct settings settings;

/* What all keep of a connection: the first of the 104 bytes that Linux has for it. */
struct common {
	struct course course;
	u32 loss_cwnd;	/* the window before the last loss */
};

/* What the window is cut to, from `cwnd`, where the kernel's own threshold is none that anybody has set. */
static inline u32 threshold(struct sock *sk, u32 cwnd);
/* What the window grows by in a round trip, in 1/1000 packets; it may also set window and threshold by itself. */
static inline u32 growth(struct sock *sk, struct window *window, u32 packets, u32 reducing);

static inline struct common *common(struct sock *sk)
{
	return (struct common *)inet_csk(sk)->icsk_ca_priv;
}

static inline int uses_its_window(struct tcp_sock *tp)
{
	if (BITS(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/*
 * Linux does not do it for a control that sets the window by itself (tcp_update_pacing_rate): the window in a round trip, times
 * a share that the administrator sets, and no more than the application allows. Multipath TCP sends nothing on a
 * connection without a rate, so that one is needed before the first round trip is known.
 */
static inline void pace(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct netns_ipv4 *ipv4 = &sk->__sk_common.skc_net.net->ipv4;
	u32 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? ipv4->sysctl_tcp_pacing_ss_ratio
							   : ipv4->sysctl_tcp_pacing_ca_ratio;
	u32 packets = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	u32 eighths = tp->srtt_us;
	/* 8 s are 80,000 times 100 us, and percent are hundredths. */
	u64 rate = (u64)packets * tp->mss_cache * 80000 * percent;

	if (eighths)
		rate /= eighths;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	if (rate)
		sk->sk_pacing_rate = rate;
}

static inline void start_common(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	common(sk)->loss_cwnd = 0;
	course_start(&common(sk)->course, tp->snd_cwnd, tp->snd_ssthresh, tp->delivered);
	pace(sk);
}

/* A socket that has no peer yet chooses, or a connection begins. */
static inline int is_connected(struct sock *sk)
{
	u8 state = sk->__sk_common.skc_state;

	return state != TCP_LISTEN && state != TCP_CLOSE;
}

/*
 * The window after an acknowledgement, in one place. Linux 6.18 on a busy machine now and then goes on for some
 * acknowledgements without running any of the programs here. Where it needs a threshold, or a window to return to, it
 * takes what lies on its stack: a number of any size, often 0. It is therefore not left to set the window, and what nobody
 * can have set is not believed.
 */
SEC("struct_ops/headway_decide")
void headway_decide(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	struct tcp_sock *tp = tcp_sk(sk);
	struct course *course = &common(sk)->course;
	u32 packets = tp->delivered - course->delivered, state = BITS(inet_csk(sk), icsk_ca_state);
	u32 reducing = state == TCP_CA_CWR || state == TCP_CA_RECOVERY;
	struct window window = { tp->snd_cwnd, tp->snd_cwnd_cnt, tp->snd_ssthresh, tp->snd_cwnd_clamp };

	course->delivered = tp->delivered;
	if (!course_believes(course, &settings, &window, packets)) {
		window.ssthresh = threshold(sk, course->cwnd);
		tp->snd_ssthresh = window.ssthresh;
	}
	course_decide(course, &window, packets, reducing, growth(sk, &window, packets, reducing));
	tp->snd_cwnd = window.cwnd;
	tp->snd_cwnd_cnt = window.credit;
	pace(sk);
}

SEC("struct_ops/headway_undo")
u32 headway_undo(u64 *args)
{
	struct sock *sk = (struct sock *)args[0];
	u32 cwnd = tcp_sk(sk)->snd_cwnd, before_loss = common(sk)->loss_cwnd;

	return cwnd > before_loss ? cwnd : before_loss;
}

char dual_license[] SEC("license") = "Dual MIT/GPL";

#endif
