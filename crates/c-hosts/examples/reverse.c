/*
 * A server that answers with the bytes of a request in reverse, and a client that asks it.
 *
 *     reverse serve ADDRESS [SETTING ...]
 *     reverse ask PEER TEXT [SETTING ...]
 */
#include "headway.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(hw_status status) {
    if (status != HW_OK) {
        fprintf(stderr, "error: %s\n", hw_error());
        exit(1);
    }
}

/* Answers requests until a message comes that is none. */
static void serve(const hw_endpoint *endpoint) {
    hw_address here;
    char text[64];
    int more = 1;
    check(hw_local(endpoint, &here));
    check(hw_address_write(&here, text, sizeof text));
    printf("%s\n", text);
    fflush(stdout);
    while (more) {
        hw_message *request;
        check(hw_recv(endpoint, HW_FOREVER, &request));
        const char *bytes = hw_bytes(request);
        size_t length = hw_length(request);
        more = hw_wants_reply(request);
        if (more) {
            char *reply = malloc(length + 1);
            for (size_t i = 0; i < length; i++) {
                reply[i] = bytes[length - 1 - i];
            }
            check(hw_reply(request, reply, length, 0));
            free(reply);
        }
        check(hw_free(request));
    }
}

int main(int argc, char **argv) {
    hw_endpoint *endpoint;
    if (argc >= 3 && strcmp(argv[1], "serve") == 0) {
        check(hw_bind(argv[2], (const char *const *)argv + 3, argc - 3, &endpoint));
        serve(endpoint);
    } else if (argc >= 4 && strcmp(argv[1], "ask") == 0) {
        hw_address peer;
        hw_message *reply;
        check(hw_bind("127.0.0.1:0", (const char *const *)argv + 4, argc - 4, &endpoint));
        check(hw_address_read(argv[2], &peer));
        check(hw_call(endpoint, &peer, argv[3], strlen(argv[3]), HW_USUAL, &reply));
        printf("%.*s\n", (int)hw_length(reply), (const char *)hw_bytes(reply));
        check(hw_free(reply));
        /* The server ends; this returns when it has the message. */
        check(hw_send(endpoint, &peer, NULL, 0, HW_FOREVER));
    } else {
        fprintf(stderr, "usage: reverse serve ADDRESS [SETTING ...] | reverse ask PEER TEXT [SETTING ...]\n");
        return 2;
    }
    check(hw_close(endpoint));
    return 0;
}
