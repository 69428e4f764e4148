/*
 * Messages between real hosts: docs/c-hosts.md explains it.
 *
 * Functions answer a status, and hw_error() has the words for the last one in this thread that was not HW_OK. Threads may
 * share an endpoint. Times are microseconds.
 *
 * This file is made of crates/c-hosts/src/border.rs.
 */

#ifndef HEADWAY_H
#define HEADWAY_H

#include <stddef.h>
#include <stdint.h>

/*
 Of `timeout_us`: as long as it takes.
 */
#define HW_FOREVER -1

/*
 Of `timeout_us` of `hw_call` and `hw_call_begin`: what the setting `call_timeout` says, 60 s without it.
 */
#define HW_USUAL -2

/*
 Of an `hw_event`: a message arrived that is not a reply.
 */
#define HW_MESSAGE 0

/*
 Of an `hw_event`: a message of `hw_send_begin` or `hw_reply_begin` was acknowledged, or failed.
 */
#define HW_SENT 1

/*
 Of an `hw_event`: a call of `hw_call_begin` has its reply, or failed.
 */
#define HW_REPLY 2

/*
 Of an `hw_path`: its other end has not answered yet.
 */
#define HW_PATH_PROVING 0

/*
 Of an `hw_path`: its other end answers; that it carries the longest packets has not been seen yet.
 */
#define HW_PATH_SIZING 1

/*
 Of an `hw_path`: it carries packets.
 */
#define HW_PATH_OPEN 2

/*
 Of an `hw_path`: it does not carry packets of full length, and takes none.
 */
#define HW_PATH_NARROW 3

/*
 Of an `hw_path`: no answer has come for as long as the setting `path_timeout` says.
 */
#define HW_PATH_DEAD 4

/*
 Status that a function returns. `hw_error` has the words for the last answer in this thread that was not
 `HW_OK`.
 */
typedef enum hw_status {
  /*
   All is well.
   */
  HW_OK = 0,
  /*
   Of `hw_next`: nothing is there now. Wait until the descriptor is readable.
   */
  HW_NOTHING = 1,
  /*
   An argument cannot be: a null pointer, a text that is not UTF-8, an address that is none.
   */
  HW_BAD_ARGUMENT = 2,
  /*
   A setting has an unknown name, or its value is out of its range; or the transport cannot be configured so.
   */
  HW_BAD_SETTING = 3,
  /*
   Other hosts can reach the address, and no setting says which of them are admitted.
   */
  HW_NOT_LOOPBACK = 4,
  /*
   The operating system refused something.
   */
  HW_SYSTEM = 5,
  /*
   No message or reply came in time, or a message was not acknowledged by then and is still under way.
   */
  HW_TIMED_OUT = 6,
  /*
   The peer restarted: whether the message was delivered is unknown.
   */
  HW_PEER_RESTARTED = 7,
  /*
   The peer does not answer: whether the message was delivered is unknown.
   */
  HW_UNREACHABLE = 8,
  /*
   The peer runs another version, transport or MTU: nothing was delivered.
   */
  HW_REFUSED = 9,
  /*
   The peer answers, and takes nothing of the message: whether it was delivered is unknown.
   */
  HW_STALLED = 10,
  /*
   The peer's address is not admitted by this endpoint.
   */
  HW_NOT_ADMITTED = 11,
  /*
   The message is longer than this endpoint allows: setting `message_bytes`.
   */
  HW_TOO_LONG = 12,
  /*
   The memory for messages is taken: wait for earlier ones. Settings `total_bytes`, `peer_bytes`.
   */
  HW_FULL = 13,
  /*
   All places for peers are taken by peers with something under way: setting `peers`.
   */
  HW_TOO_MANY_PEERS = 14,
  /*
   The transport gave the message up.
   */
  HW_GAVE_UP = 15,
  /*
   The endpoint is closed, or its socket failed.
   */
  HW_CLOSED = 16,
  /*
   A mistake in Headway itself.
   */
  HW_INTERNAL = 17,
  /*
   The endpoint was bound by another process, from which this one was forked: nothing was sent. Bind one in this process.
   */
  HW_FORKED = 18,
} hw_status;

/*
 A host's end of messages to and from any number of peers. Threads may share it. It belongs to the process that bound it: in
 one that was forked from that, every function but `hw_shutdown` and `hw_close` answers `HW_FORKED`.
 */
typedef struct hw_endpoint hw_endpoint;

/*
 A message or a reply that was received. It holds its memory until `hw_free`.
 */
typedef struct hw_message hw_message;

/*
 An address and a port.
 */
typedef struct hw_address {
  /*
   The address, its first byte first; the rest is zero.
   */
  uint8_t ip[16];
  /*
   Length of the address in bytes: 4 for IPv4, 16 for IPv6.
   */
  uint16_t ip_bytes;
  /*
   The port, as the processor writes numbers.
   */
  uint16_t port;
} hw_address;

/*
 Something that `hw_next` gives.
 */
typedef struct hw_event {
  /*
   `HW_MESSAGE`, `HW_SENT` or `HW_REPLY`.
   */
  uint32_t kind;
  /*
   Outcome; `HW_OK` for a message. `hw_error` has the words.
   */
  enum hw_status status;
  /*
   Number that the program gave the request; 0 for a message.
   */
  uint64_t tag;
  /*
   The message or the reply, to be freed by `hw_free`; null where there is none.
   */
  struct hw_message *message;
} hw_event;

/*
 What is known of a path to a peer.
 */
typedef struct hw_path {
  /*
   The peer, by the address at which it was met.
   */
  struct hw_address peer;
  /*
   The two ends of the path.
   */
  struct hw_address local;
  /*
   The end at the peer.
   */
  struct hw_address remote;
  /*
   `HW_PATH_OPEN` and its like.
   */
  uint32_t state;
  /*
   Bytes of the longest IP packet that is known to arrive, 0 before the first answer.
   */
  uint32_t mtu;
  /*
   Smoothed round trip in nanoseconds, 0 before the first answer.
   */
  uint64_t round_trip_ns;
  /*
   Bytes of packets that left there, and that came from there.
   */
  uint64_t bytes_sent;
  /*
   Bytes of packets that came from there.
   */
  uint64_t bytes_received;
  /*
   Times it was given up.
   */
  uint64_t deaths;
} hw_path;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Makes an endpoint at an address and port such as "127.0.0.1:0" or "[::1]:0", with `count` settings such as "transport=homa",
 "rate=25 Gbps" or "key_file=key"; port 0 = any. Without settings it is reached from this machine alone.

 # Safety
 Texts end with a zero byte; `endpoint` is where a pointer may be written.
 */
enum hw_status hw_bind(const char *address,
                       const char *const *settings,
                       size_t count,
                       struct hw_endpoint **endpoint);

/*
 Ends all waiting for this endpoint, in whichever threads, with `HW_CLOSED`. The endpoint has still to be freed by
 `hw_close`.

 # Safety
 `endpoint` is null, or `hw_bind` gave it.
 */
enum hw_status hw_shutdown(const struct hw_endpoint *endpoint);

/*
 Closes an endpoint and frees it: what was not acknowledged fails. A null pointer is closed already. No other thread may be in a
 function of this endpoint; messages that were received may be freed later. In a process that was forked from the one that bound
 it, this closes the descriptors of that process and nothing else, as `hw_shutdown` does.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; it is used no more.
 */
enum hw_status hw_close(struct hw_endpoint *endpoint);

/*
 The words for the last answer in this thread that was not `HW_OK`, in UTF-8. They stay until the next such answer.
 */
const char *hw_error(void);

/*
 A few words for a status; those for `HW_INTERNAL` for a number that is none.
 */
const char *hw_words(uint32_t status);

/*
 Reads an address such as "10.0.0.2:18519".

 # Safety
 The text ends with a zero byte; `address` is null, or where it may be written.
 */
enum hw_status hw_address_read(const char *written, struct hw_address *address);

/*
 Writes an address as text into `size` bytes, a zero byte at its end included; 64 are enough.

 # Safety
 `address` is null or to an address; `written` is null, or `size` bytes may be written there.
 */
enum hw_status hw_address_write(const struct hw_address *address, char *written, size_t size);

/*
 The address that the endpoint is bound to.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `address` is null, or where it may be written.
 */
enum hw_status hw_local(const struct hw_endpoint *endpoint, struct hw_address *address);

/*
 Sends a message, and waits for `timeout_us` at most until the peer has received all of it. 0 does not wait at all, and
 what becomes of the message is not known; it is copied.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `bytes` are `length` bytes.
 */
enum hw_status hw_send(const struct hw_endpoint *endpoint,
                       const struct hw_address *peer,
                       const void *bytes,
                       size_t length,
                       int64_t timeout_us);

/*
 Sends a request, and waits for its reply for `timeout_us` at most, or `HW_USUAL`. The reply is to be freed by `hw_free`.

 # Safety
 As for `hw_send`; `reply` is null, or where a pointer may be written.
 */
enum hw_status hw_call(const struct hw_endpoint *endpoint,
                       const struct hw_address *peer,
                       const void *bytes,
                       size_t length,
                       int64_t timeout_us,
                       struct hw_message **reply);

/*
 Waits for the next message for `timeout_us` at most; replies to calls do not come here. It is to be freed by `hw_free`.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `message` is null, or where a pointer may be written.
 */
enum hw_status hw_recv(const struct hw_endpoint *endpoint,
                       int64_t timeout_us,
                       struct hw_message **message);

/*
 Replies to a request, and waits as `hw_send` does. To a message that is not a request the answer is a message.

 # Safety
 `request` is null, or a message that was not freed; `bytes` are `length` bytes.
 */
enum hw_status hw_reply(const struct hw_message *request,
                        const void *bytes,
                        size_t length,
                        int64_t timeout_us);

/*
 The bytes of a message, which stay until it is freed; null of a null pointer.

 # Safety
 `message` is null, or was not freed.
 */
const void *hw_bytes(const struct hw_message *message);

/*
 Length of a message in bytes; 0 of a null pointer.

 # Safety
 `message` is null, or was not freed.
 */
size_t hw_length(const struct hw_message *message);

/*
 1 if the sender of this message waits for a reply; 0 for a null pointer.

 # Safety
 `message` is null, or was not freed.
 */
int hw_wants_reply(const struct hw_message *message);

/*
 The address that a message came from.

 # Safety
 `message` is null, or was not freed; `address` is null, or where it may be written.
 */
enum hw_status hw_peer(const struct hw_message *message, struct hw_address *address);

/*
 Frees a message. A null pointer is freed already.

 # Safety
 `message` is null, or was not freed; it is used no more.
 */
enum hw_status hw_free(struct hw_message *message);

/*
 A descriptor for `poll` and `epoll`, which is readable while `hw_next` has something to give. It belongs to the endpoint. From
 the first call on, the endpoint's own thread does its work, so that blocking calls wake one thread more at each end.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `fd` is null, or where a number may be written.
 */
enum hw_status hw_fd(const struct hw_endpoint *endpoint,
                     int *fd);

/*
 Begins to send a message, which is copied. `hw_next` gives an event with this tag when it was acknowledged or failed. After
 `hw_fd`.

 # Safety
 As for `hw_send`.
 */
enum hw_status hw_send_begin(const struct hw_endpoint *endpoint,
                             const struct hw_address *peer,
                             const void *bytes,
                             size_t length,
                             uint64_t tag);

/*
 Begins a call. `hw_next` gives an event with this tag when the reply is there, after `timeout_us` at the latest. After
 `hw_fd`.

 # Safety
 As for `hw_send`.
 */
enum hw_status hw_call_begin(const struct hw_endpoint *endpoint,
                             const struct hw_address *peer,
                             const void *bytes,
                             size_t length,
                             int64_t timeout_us,
                             uint64_t tag);

/*
 Begins to reply to a request of this endpoint. `hw_next` gives an event with this tag when the reply was acknowledged or
 failed. After `hw_fd`. The request may be freed at once.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `request` is null, or a message that was not freed; `bytes` are `length` bytes.
 */
enum hw_status hw_reply_begin(const struct hw_endpoint *endpoint,
                              const struct hw_message *request,
                              const void *bytes,
                              size_t length,
                              uint64_t tag);

/*
 The next event if one is there, and `HW_NOTHING` if none is. Never waits. After `hw_fd`. Its message is to be freed by
 `hw_free`.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `event` is null, or where one may be written.
 */
enum hw_status hw_next(const struct hw_endpoint *endpoint,
                       struct hw_event *event);

/*
 The value of a counter by its name, such as "messages_received"; docs/real-hosts.md lists them.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; the name ends with a zero byte; `value` is null, or where a number may be written.
 */
enum hw_status hw_stat(const struct hw_endpoint *endpoint,
                       const char *name,
                       uint64_t *value);

/*
 All counters as text for Prometheus, each with the endpoint's address as label `endpoint`. Writes as much as fits into `size`
 bytes, a zero byte at its end included, and the bytes that the whole text takes with its zero byte into `needed`. With a
 `size` of 0, `written` may be null.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `size` bytes may be written at `written`; `needed` is null, or where a number may be
 written.
 */
enum hw_status hw_prometheus(const struct hw_endpoint *endpoint,
                             char *written,
                             size_t size,
                             size_t *needed);

/*
 Gives an endpoint another address of this host, for more paths to all peers; port 0 = the endpoint's, where it is free. Writes
 where it is bound. What the setting `addresses` says is the same from the start.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `address` is null, or to an address; `bound` is null, or where one may be written.
 */
enum hw_status hw_add_address(const struct hw_endpoint *endpoint,
                              const struct hw_address *address,
                              struct hw_address *bound);

/*
 An address is gone for good: paths from there end, and peers are told.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `address` is null, or to an address.
 */
enum hw_status hw_remove_address(const struct hw_endpoint *endpoint, const struct hw_address *address);

/*
 What is known of the paths to all peers, where one end has several addresses. Writes as many as there is room for, and into
 `count` how many there are.

 # Safety
 `endpoint` is null, or `hw_bind` gave it; `room` paths may be written at `paths`, which may be null with a `room` of 0; `count` is
 null, or where a number may be written.
 */
enum hw_status hw_paths(const struct hw_endpoint *endpoint,
                        struct hw_path *paths,
                        size_t room,
                        size_t *count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HEADWAY_H */
