/* A kernel that refuses to send: loaded before the program, it answers some calls of sendmmsg itself. REFUSE says which:
 * "tos" those with a type-of-service byte in a control message, "ecn" those whose byte has a mark, "rows" rows of datagrams,
 * "all" every one. ERRNO is the answer's number; with ONCE, only the hundredth such call is refused. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

typedef int (*sendmmsg_type)(int, struct mmsghdr *, unsigned, int);

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    static long calls;
    sendmmsg_type real = (sendmmsg_type)dlsym(RTLD_NEXT, "sendmmsg");
    const char *what = getenv("REFUSE"), *number = getenv("ERRNO");
    int tos = 0, ecn = 0, rows = 0;
    for (unsigned i = 0; i < count; i++) {
        struct msghdr *header = &messages[i].msg_hdr;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
            if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_SEGMENT)
                rows = 1;
            if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
                (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
                int value;
                memcpy(&value, CMSG_DATA(c), sizeof value);
                tos = 1;
                ecn |= (value & 3) != 0;
            }
        }
    }
    int refused = what && number &&
                  (!strcmp(what, "all") || (!strcmp(what, "tos") && tos) || (!strcmp(what, "ecn") && ecn) ||
                   (!strcmp(what, "rows") && rows));
    if (refused && (!getenv("ONCE") || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == 100)) {
        errno = atoi(number);
        return -1;
    }
    return real(fd, messages, count, flags);
}
