/*
 * One thread, two endpoints and one poll(): a client with up to 64 calls under way, and the server that adds up the
 * numbers of each.
 *
 *     many COUNT
 */
#include "headway.h"
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNDER_WAY = 64, NUMBERS = 1000 };

static void check(hw_status status) {
    if (status != HW_OK) {
        fprintf(stderr, "error: %s\n", hw_error());
        exit(1);
    }
}

/* A request: NUMBERS numbers from `first` on. The call's tag is `first`. */
static void ask(const hw_endpoint *client, const hw_address *server, uint64_t first) {
    uint64_t numbers[NUMBERS];
    for (uint64_t i = 0; i < NUMBERS; i++) {
        numbers[i] = first + i;
    }
    check(hw_call_begin(client, server, numbers, sizeof numbers, HW_USUAL, first));
}

static void answer(const hw_endpoint *server, const hw_event *event) {
    uint64_t numbers[NUMBERS], sum = 0;
    if (event->kind == HW_MESSAGE && hw_length(event->message) == sizeof numbers) {
        memcpy(numbers, hw_bytes(event->message), sizeof numbers);
        for (int i = 0; i < NUMBERS; i++) {
            sum += numbers[i];
        }
        check(hw_reply_begin(server, event->message, &sum, sizeof sum, 0));
    }
}

int main(int argc, char **argv) {
    uint64_t count = argc == 2 ? strtoull(argv[1], NULL, 10) : 0, begun = 0, done = 0, wrong = 0;
    hw_endpoint *server, *client;
    hw_address address;
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
    if (count == 0) {
        fprintf(stderr, "usage: many COUNT\n");
        return 2;
    }
    check(hw_bind("127.0.0.1:0", NULL, 0, &server));
    check(hw_bind("127.0.0.1:0", NULL, 0, &client));
    check(hw_local(server, &address));
    check(hw_fd(server, &fds[0].fd));
    check(hw_fd(client, &fds[1].fd));
    while (done < count) {
        hw_event event;
        hw_status status;
        for (; begun < count && begun - done < UNDER_WAY; begun++) {
            ask(client, &address, begun);
        }
        if (poll(fds, 2, -1) < 0) {
            perror("poll");
            return 1;
        }
        while ((status = hw_next(server, &event)) == HW_OK) {
            answer(server, &event);
            check(hw_free(event.message));
        }
        check(status == HW_NOTHING ? HW_OK : status);
        while ((status = hw_next(client, &event)) == HW_OK) {
            uint64_t sum = 0, expected = event.tag * NUMBERS + NUMBERS * (NUMBERS - 1) / 2;
            check(event.status);
            memcpy(&sum, hw_bytes(event.message), hw_length(event.message) == sizeof sum ? sizeof sum : 0);
            wrong += sum != expected;
            done++;
            check(hw_free(event.message));
        }
        check(status == HW_NOTHING ? HW_OK : status);
    }
    printf("%" PRIu64 " replies, %" PRIu64 " of them wrong\n", done, wrong);
    check(hw_close(client));
    check(hw_close(server));
    return wrong != 0;
}
