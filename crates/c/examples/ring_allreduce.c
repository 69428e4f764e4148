/*
 * A ring all-reduce, as a program outside of Headway would do it: in each of 2 (n - 1) steps, each rank sends a part of its
 * buffer to the next rank as soon as the part before has arrived.
 *
 *     ring_allreduce SCENARIO BYTES DIRECTORY [KEY=VALUE ...]
 *
 * The results are written into the directory, unless it is "-".
 */
#include "headway_sim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rank {
    headway *run;
    uint32_t number, ranks, step;
    uint64_t bytes;
};

static void check(headway_status status) {
    if (status != HEADWAY_OK) {
        fprintf(stderr, "%s\n", headway_error());
        exit(1);
    }
}

/* The size of a part: the first ones are a byte longer where the parts are not even. */
static uint64_t part(const struct rank *rank, uint32_t number) {
    return rank->bytes / rank->ranks + (number < rank->bytes % rank->ranks);
}

static void arrived(void *arg);

/* In step s, rank r sends part r - s and receives part r - s - 1. */
static void step(struct rank *rank) {
    uint32_t n = rank->ranks, s = rank->step;
    uint32_t own = (rank->number + 2 * n - s) % n, others = (rank->number + 2 * n - s - 1) % n;
    uint32_t next = (rank->number + 1) % n, before = (rank->number + n - 1) % n;
    check(headway_receive(rank->run, rank->number, before, part(rank, others), s, arrived, rank));
    check(headway_send(rank->run, rank->number, next, part(rank, own), s, HEADWAY_RECEIVED, NULL, NULL));
}

static void arrived(void *arg) {
    struct rank *rank = arg;
    if (++rank->step < 2 * (rank->ranks - 1)) {
        step(rank);
    }
}

int main(int argc, char **argv) {
    headway *run;
    headway_reached reached;
    struct rank *all;
    uint32_t r, ranks;
    if (argc < 4) {
        fprintf(stderr, "usage: ring_allreduce SCENARIO BYTES DIRECTORY [KEY=VALUE ...]\n");
        return 2;
    }
    check(headway_open(argv[1], (const char *const *)argv + 4, argc - 4, &run));
    ranks = headway_hosts(run);
    all = calloc(ranks, sizeof *all);
    for (r = 0; r < ranks; r++) {
        all[r].run = run;
        all[r].number = r;
        all[r].ranks = ranks;
        all[r].bytes = strtoull(argv[2], NULL, 10);
        step(&all[r]);
    }
    check(headway_run(run));
    check(headway_progress(run, &reached));
    printf("%" PRIu32 " ranks, %" PRIu64 " messages: %" PRIu64 " ps\n", ranks, reached.messages_arrived, reached.now_ps);
    printf("digest %016" PRIx64 "\n", reached.digest);
    check(headway_finish(run, strcmp(argv[3], "-") ? argv[3] : NULL));
    check(headway_close(run));
    free(all);
    return 0;
}
