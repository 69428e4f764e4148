/*
 * Two ranks send a message to and fro, and say how long that takes.
 *
 *     ping_pong SCENARIO [KEY=VALUE ...]
 */
#include "headway_sim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 4, BYTES = 100000 };

struct ping_pong {
    headway *run;
    int round;
    uint64_t began;
};

static void check(headway_status status) {
    if (status != HEADWAY_OK) {
        fprintf(stderr, "%s\n", headway_error());
        exit(1);
    }
}

static void next(void *arg);

static void send_one(struct ping_pong *state) {
    uint32_t from = state->round % 2, to = 1 - from;
    state->began = headway_now(state->run);
    check(headway_receive(state->run, to, from, BYTES, state->round, next, state));
    check(headway_send(state->run, from, to, BYTES, state->round, HEADWAY_RECEIVED, NULL, NULL));
}

static void next(void *arg) {
    struct ping_pong *state = arg;
    uint64_t took = headway_now(state->run) - state->began;
    printf("message %d took %" PRIu64 " ps\n", state->round, took);
    if (++state->round < ROUNDS) {
        send_one(state);
    }
}

int main(int argc, char **argv) {
    struct ping_pong state = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: ping_pong SCENARIO [KEY=VALUE ...]\n");
        return 2;
    }
    check(headway_open(argv[1], (const char *const *)argv + 2, argc - 2, &state.run));
    send_one(&state);
    check(headway_run(state.run));
    printf("all took %" PRIu64 " ps\n", headway_now(state.run));
    check(headway_close(state.run));
    return 0;
}
