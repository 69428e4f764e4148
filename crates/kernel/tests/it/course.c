/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* A connection's window when the kernel claims what nobody set: course SETTINGS <steps >windows */
#include <stdio.h>

#include "../../bpf/window.h"

static struct settings settings;

int main(int count, char **arguments)
{
	struct course course = { 0, 0, 0, 0, 0 };
	struct window window = { 0, 0, 0, 0xffffffffu };
	u32 packets, reducing, increase, share;
	long long cwnd, ssthresh;
	FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;

	if (!file || fread(&settings, sizeof settings, 1, file) != 1 || fgetc(file) != EOF)
		return 1;
	/* A line is an acknowledgement; below 0 a window or threshold is the one before. Without packets it is a new connection. */
	while (scanf("%u %u %u %u %lld %lld", &packets, &reducing, &increase, &share, &cwnd, &ssthresh) == 6) {
		if (cwnd >= 0)
			window.cwnd = (u32)cwnd;
		if (ssthresh >= 0)
			window.ssthresh = (u32)ssthresh;
		if (!packets) {
			window.credit = 0;
			course_start(&course, window.cwnd, window.ssthresh, 0);
		} else {
			if (!course_believes(&course, &settings, &window, packets))
				window.ssthresh = cut(&settings, course.cwnd, share);
			course_decide(&course, &window, packets, reducing, increase);
		}
		printf("%u %u\n", window.cwnd, window.ssthresh);
	}
	return 0;
}
