/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* A switch's ECN for a Linux machine that forwards: packets are marked while the queue is at least so long. */
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qdisc_skb_head {
	u32 qlen;
};

struct Qdisc {
	struct qdisc_skb_head q;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

struct __sk_buff;

enum { TC_ACT_UNSPEC = -1 };

static long (*const bpf_skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)97;
extern void *bpf_cast_to_kern_ctx(void *context) SEC(".ksyms");

/* Filled in by the loader: packets that wait, from which on the next one is marked. */
u32 threshold;

SEC("tc")
int mark(struct __sk_buff *context)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(context);

	if (skb->dev->qdisc->q.qlen >= threshold)
		bpf_skb_ecn_set_ce(context);
	return TC_ACT_UNSPEC;
}

char dual_license[] SEC("license") = "Dual MIT/GPL";
