/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* The arithmetic of the kernel's programs on recorded steps: replay CONTROL SETTINGS <steps >windows */
#include <stdio.h>
#include <string.h>

#include "../../bpf/window.h"
#include "../../bpf/l2dct.h"
#include "../../bpf/d2tcp.h"
#include "../../bpf/vegas.h"

static struct settings settings;

int main(int count, char **arguments)
{
	struct share share = { 0, 0, 0, 0 };
	struct window window = { 0, 0, 0, 0xffffffffu };
	struct vegas vegas = { 0, 0, 0, 0 };
	u32 una, next, delivered, marked, acked, left, srtt, first, open, decision = RENO;
	s32 rtt;
	u64 sent, time;
	char step;
	FILE *file = count == 3 ? fopen(arguments[2], "rb") : NULL;

	if (!file || fread(&settings, sizeof settings, 1, file) != 1 || fgetc(file) != EOF)
		return 1;
	while (scanf(" %c %u %u %u %u %u %llu %u %u %llu %u %d %u", &step, &una, &next, &delivered, &marked, &acked, &sent,
		     &left, &srtt, &time, &first, &rtt, &open) == 13) {
		u32 row = l2dct_row(&settings, sent), penalty, increase = PACKET;

		if (step == 'n') {	/* a new connection, with a window of `acked` */
			share.alpha = settings.alpha;
			share_restart(&share, next, delivered, marked);
			vegas_start(&vegas, next);
			window.cwnd = acked;
			window.credit = 0;
			window.ssthresh = settings.slow_start ? 0x7fffffffu : acked;
		} else {
			share_count(&share, &settings, una, next, delivered, marked);
		}
		if (!strcmp(arguments[1], "vegas") && step != 'n') {
			if (rtt >= 0)
				vegas_sample(&vegas, rtt);
			decision = vegas_acknowledged(&vegas, &settings, &window, first, next, acked, open);
		}
		penalty = share.alpha;
		if (!strcmp(arguments[1], "l2dct")) {
			penalty = power(&settings, row, share.alpha);
			increase = settings.increase[row];
		} else if (!strcmp(arguments[1], "d2tcp")) {
			penalty = power(&settings, settings.deadline_us ? d2tcp_row(&settings, left, window.cwnd, srtt, time)
									: NEUTRAL, share.alpha);
		}
		switch (step) {
		case 'g':	/* grow */
			if (!strcmp(arguments[1], "vegas"))
				vegas_grow(&window, decision, acked);
			else
				grow(&window, acked, increase);
			break;
		case 'm':	/* a mark is answered; Linux ends the reduction at the threshold, without credit */
			window.cwnd = window.ssthresh = cut(&settings, window.cwnd, penalty);
			window.credit = 0;
			break;
		case 'l':	/* a loss */
			window.cwnd = window.ssthresh = half(window.cwnd);
			window.credit = 0;
			break;
		case 't':	/* a time-out */
			window.ssthresh = half(window.cwnd);
			window.cwnd = 1;
			window.credit = 0;
			break;
		}
		printf("%u %u %u\n", window.cwnd, window.ssthresh, share.alpha);
	}
	return 0;
}
