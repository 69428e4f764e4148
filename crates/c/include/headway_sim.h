/*
 * Headway as the network of other programs: docs/c-interface.md explains it.
 *
 * Functions answer a status, and headway_error() has the words for the last one that was not HEADWAY_OK. A run belongs to
 * the thread that opened it, and has one thread itself. Times are picoseconds of virtual time.
 *
 * This file is made of crates/c/src/border.rs.
 */

#ifndef HEADWAY_SIM_H
#define HEADWAY_SIM_H

#include <stddef.h>
#include <stdint.h>

/*
 Of `headway_send`: the callback is called when the last byte of the message is at its receiver.
 */
#define HEADWAY_RECEIVED 0

/*
 Of `headway_send`: the callback is called when the sender knows that, as by an acknowledgement.
 */
#define HEADWAY_KNOWN 1

/*
 Status that a function returns. `headway_error` has the words for the last answer that was not
 `HEADWAY_OK`.
 */
typedef enum headway_status {
  /*
   All is well. Of `headway_run`: all messages and times are over, or a callback asked for a rest.
   */
  HEADWAY_OK = 0,
  /*
   An argument cannot be: a null pointer, a text that is not UTF-8, a rank or a host that is not there, a time that is
   past.
   */
  HEADWAY_BAD_ARGUMENT = 1,
  /*
   The scenario cannot be read, or is wrong. The text shows where.
   */
  HEADWAY_BAD_SCENARIO = 2,
  /*
   The function cannot be called from a callback.
   */
  HEADWAY_BUSY = 3,
  /*
   A run belongs to the thread that opened it, and another one called.
   */
  HEADWAY_WRONG_THREAD = 4,
  /*
   The results have been made: a run goes no further after that.
   */
  HEADWAY_FINISHED = 5,
  /*
   The latest end of the scenario, its `stop`, is there.
   */
  HEADWAY_STOP_REACHED = 6,
  /*
   Receives wait for messages that were never sent, and nothing else is to come.
   */
  HEADWAY_RECEIVES_WAIT = 7,
  /*
   Messages are not complete, and nothing arrives any more.
   */
  HEADWAY_STUCK = 8,
  /*
   The transport gave messages up, and their callbacks will not be called. The run can go on.
   */
  HEADWAY_MESSAGE_LOST = 9,
  /*
   The run has taken all the memory that the scenario's `memory_limit` allows.
   */
  HEADWAY_OUT_OF_MEMORY = 10,
  /*
   The results cannot be made or written.
   */
  HEADWAY_NO_RESULTS = 11,
  /*
   A mistake in Headway itself.
   */
  HEADWAY_INTERNAL = 12,
} headway_status;

/*
 A run of a scenario. It belongs to the thread that opened it.
 */
typedef struct headway headway;

/*
 A function of the program, which is called with the argument that was given with it. It must return: no C++
 exception and no `longjmp` may leave it. It may call every function of this interface but those that say otherwise.
 */
typedef void (*headway_callback)(void *arg);

/*
 Progress of a run.
 */
typedef struct headway_reached {
  /*
   Virtual time, in picoseconds.
   */
  uint64_t now_ps;
  /*
   Events so far.
   */
  uint64_t events;
  /*
   Messages that were handed over.
   */
  uint64_t messages;
  /*
   Those of them that have arrived.
   */
  uint64_t messages_arrived;
  /*
   Those of them that the transport gave up.
   */
  uint64_t messages_lost;
  /*
   Receives for which no message has been handed over.
   */
  uint64_t receives_waiting;
  /*
   Digest of all events so far: equal for equal calls, scenarios and versions.
   */
  uint64_t digest;
} headway_reached;

/*
 Every status, in the order of its number.
 */
#define headway_status_ALL { HEADWAY_OK, HEADWAY_BAD_ARGUMENT, HEADWAY_BAD_SCENARIO, HEADWAY_BUSY, HEADWAY_WRONG_THREAD, HEADWAY_FINISHED, HEADWAY_STOP_REACHED, HEADWAY_RECEIVES_WAIT, HEADWAY_STUCK, HEADWAY_MESSAGE_LOST, HEADWAY_OUT_OF_MEMORY, HEADWAY_NO_RESULTS, HEADWAY_INTERNAL, }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Opens the scenario in a file. `sets` are `count` texts such as "seed=7" or "topology.hosts=16", as `headway run --set`
 takes them. A `[[traffic]]` entry of kind = "external" sets the properties that the messages share.

 # Safety
 Texts end with a zero byte; `run` is where a pointer may be written.
 */
enum headway_status headway_open(const char *path,
                                 const char *const *sets,
                                 size_t count,
                                 struct headway **run);

/*
 Opens a scenario that is written in a text. `name` stands for its file in messages and results, and relative paths in it
 start in `folder`.

 # Safety
 As for `headway_open`.
 */
enum headway_status headway_open_text(const char *scenario,
                                      const char *name,
                                      const char *folder,
                                      const char *const *sets,
                                      size_t count,
                                      struct headway **run);

/*
 Frees a run, whether its results were made or not. A null pointer is freed already. Not from a callback.

 # Safety
 `run` is null, or `headway_open` gave it; it is used no more.
 */
enum headway_status headway_close(struct headway *run);

/*
 The words for the last answer in this thread that was not `HEADWAY_OK`, in UTF-8: for a scenario several lines with the
 place. They stay until the next such answer.
 */
const char *headway_error(void);

/*
 A few words for a status; those for `HEADWAY_INTERNAL` for a number that is none.
 */
const char *headway_words(uint32_t status);

/*
 Number of hosts of the network; 0 of a null pointer, and in another thread.

 # Safety
 `run` is null, or `headway_open` gave it.
 */
uint32_t headway_hosts(const struct headway *run);

/*
 Says at which host each rank is, no two at one host, before the first message. Without it, rank r is at host r, and there
 are as many ranks as hosts.

 # Safety
 `run` is null, or `headway_open` gave it; `hosts` are `ranks` numbers.
 */
enum headway_status headway_place_ranks(struct headway *run,
                                        const uint32_t *hosts,
                                        size_t ranks);

/*
 The host of a rank.

 # Safety
 `run` is null, or `headway_open` gave it; `host` is null, or where a number may be written.
 */
enum headway_status headway_host_of_rank(const struct headway *run, uint32_t rank, uint32_t *host);

/*
 Hands a message over now: from rank `from` to rank `to`, at least one byte. `callback` may be null; it is called when
 `when` says: `HEADWAY_RECEIVED` or `HEADWAY_KNOWN`. The message begins after everything else that happens in this instant.

 # Safety
 `run` is null, or `headway_open` gave it; `callback` may be called with `arg`.
 */
enum headway_status headway_send(struct headway *run,
                                 uint32_t from,
                                 uint32_t to,
                                 uint64_t bytes,
                                 int64_t tag,
                                 uint32_t when,
                                 headway_callback callback,
                                 void *arg);

/*
 Rank `to` is ready for a message from rank `from` of this size and tag. `callback` is called when the message has arrived,
 or in this instant if it was there before, but not before this function returns. Of messages of one sender, receiver, size
 and tag, the n-th receive takes the n-th that was handed over.

 # Safety
 As for `headway_send`.
 */
enum headway_status headway_receive(struct headway *run,
                                    uint32_t to,
                                    uint32_t from,
                                    uint64_t bytes,
                                    int64_t tag,
                                    headway_callback callback,
                                    void *arg);

/*
 Calls `callback` when so many picoseconds have passed. With 0 that is in this instant, after everything else that happens
 in it; callbacks of one instant are called in the order in which they were scheduled.

 # Safety
 As for `headway_send`.
 */
enum headway_status headway_schedule(struct headway *run,
                                     uint64_t after_ps,
                                     headway_callback callback,
                                     void *arg);

/*
 Virtual time in picoseconds; `UINT64_MAX` of a null pointer, and in another thread.

 # Safety
 `run` is null, or `headway_open` gave it.
 */
uint64_t headway_now(const struct headway *run);

/*
 Goes on until all messages and all scheduled times are over, those included that callbacks ask for meanwhile. More can be
 handed over afterwards, and the run goes on from there. Not from a callback.

 # Safety
 `run` is null, or `headway_open` gave it.
 */
enum headway_status headway_run(struct headway *run);

/*
 Goes on until this virtual time in picoseconds, everything included that happens in that instant, even if nothing is to
 come until then. Not from a callback.

 # Safety
 `run` is null, or `headway_open` gave it.
 */
enum headway_status headway_run_until(struct headway *run,
                                      uint64_t time_ps);

/*
 From a callback: `headway_run` returns `HEADWAY_OK` when this callback, and others of the same event, have returned.

 # Safety
 `run` is null, or `headway_open` gave it.
 */
enum headway_status headway_rest(struct headway *run);

/*
 Progress of the run. Must not be called from a callback.

 # Safety
 `run` is null, or `headway_open` gave it; `reached` is null, or where the answer may be written.
 */
enum headway_status headway_progress(const struct headway *run, struct headway_reached *reached);

/*
 Ends the run where it is and writes its results into a directory, as `headway run --out` does; with a null pointer nothing
 is written. The run goes no further, and has still to be closed. Not from a callback.

 # Safety
 `run` is null, or `headway_open` gave it; the directory's path ends with a zero byte.
 */
enum headway_status headway_finish(struct headway *run,
                                   const char *directory);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HEADWAY_SIM_H */
