/* What an exported model offers to C and C++.
 *
 * One model to a program, or each in a shared library that is loaded apart from the others (dlopen, RTLD_LOCAL). Link
 * with -lm and, where threads are used, -pthread.
 */
#ifndef WHENCE_H
#define WHENCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;     /* UTF-8 */
  const char *dtype;    /* "float32", "int8", "bfloat16", .. */
  int32_t rank;
  const int64_t *shape; /* rank extents */
  int64_t nbytes;       /* of the whole tensor, in C order */
} whence_tensor;

extern const int32_t whence_num_inputs, whence_num_outputs, whence_num_params;
extern const whence_tensor whence_inputs[], whence_outputs[], whence_params[];

/* The bytes of scratch memory that a run needs. */
extern const int64_t whence_arena_bytes;

/* Threads that runs may use. */
typedef struct whence_pool whence_pool;

/* A pool of so many threads, the caller's own among them; null for one thread or fewer, and where the system has none
 * to give. A pool serves several callers: whoever comes while another uses it runs on his own thread alone. */
whence_pool *whence_pool_create(int32_t threads);

/* Ends the threads; nobody may be running with them. Null does nothing. */
void whence_pool_destroy(whence_pool *pool);

/* A model compiled for tiles (AMX) has whence_uses_tiles != 0. A run of it asks Linux for the permission to use them,
 * once per process, and without it ends the process with a message. whence_tiles_allowed() asks, too, and returns 0
 * where there is none: where the processor has no tiles, Linux is older than 5.16, or a thread's alternate signal stack
 * is too small for them. A model without tiles asks nothing. */
extern const int32_t whence_uses_tiles;
int32_t whence_tiles_allowed(void);

/* One inference.
 *
 * inputs: an address for each of whence_inputs, aligned to its element and to 4 bytes; read only.
 * outputs: an address for each of whence_outputs, aligned to 64 bytes; written whole.
 * arena: whence_arena_bytes bytes aligned to 64, for this run alone. Their contents do not matter.
 * pool: the threads to use, or null for the caller's alone.
 *
 * Safe to call from several threads at once, each with an arena and outputs of its own. A model that was exported
 * without its parameters has no whence_run: use whence_main. */
void whence_run(const void *const *inputs, void *const *outputs, void *arena, whence_pool *pool);

/* A model that takes any sizes has these, and no others do.
 *
 * A call has whence_num_values numbers. The first whence_num_sizes of them, called whence_size_names, are the sizes of
 * its inputs, which the caller fills in, within the bounds of the model; whence_sizes computes the others. In
 * whence_inputs and whence_outputs an extent below 0 is number -1 - extent of them, and nbytes is -1. Number
 * whence_arena_value is how many bytes the arena has to have. whence_run_sized is whence_run with these numbers;
 * where whence_refused[0] is another number after it, a kernel did not get whence_refused[1] bytes of memory. */
extern const int32_t whence_num_sizes, whence_num_values, whence_arena_value;
extern const char *const whence_size_names[];
extern const int64_t whence_refused[2];
void whence_sizes(int64_t *values);
void whence_run_sized(const void *const *inputs, void *const *outputs, void *arena, whence_pool *pool,
                      const int64_t *values);

/* whence_run with parameters from elsewhere, and one table for inputs and outputs: io holds the inputs, then the outputs;
 * params an address for each of whence_params, aligned to 64 bytes. */
void whence_main(void *const *io, const void *const *params, void *arena, whence_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
