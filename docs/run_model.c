/* Runs an exported model from C, in several threads at once:
 *
 *     cc run_model.c net.so -pthread -o run_model && LD_LIBRARY_PATH=. ./run_model 4 < input.bin > output.bin
 *
 * Standard input holds the model's inputs one after the other, raw, in C order; standard output gets its outputs. The
 * argument is how many callers run at the same time; they share the threads of one pool and have to agree.
 */
#include "whence.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void **inputs;
static whence_pool *pool;

/* Memory at a 64-byte boundary, as outputs and the arena want it. */
static void *memory(int64_t bytes) {
  void *found = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64 + 64);
  if (!found) {
    fprintf(stderr, "run_model: no memory\n");
    exit(1);
  }
  return found;
}

/* One caller: an arena and outputs of its own. Returns the outputs. */
static void *caller(void *unused) {
  (void)unused;
  void **outputs = memory(whence_num_outputs * (int64_t)sizeof(void *));
  for (int32_t k = 0; k < whence_num_outputs; k++) outputs[k] = memory(whence_outputs[k].nbytes);
  void *arena = memory(whence_arena_bytes);
  for (int run = 0; run < 20; run++) whence_run(inputs, outputs, arena, pool);
  free(arena);
  return outputs;
}

int main(int argc, char **argv) {
  int callers = argc > 1 ? atoi(argv[1]) : 1;
  inputs = memory(whence_num_inputs * (int64_t)sizeof(void *));
  for (int32_t k = 0; k < whence_num_inputs; k++) {
    const whence_tensor *tensor = &whence_inputs[k];
    void *array = memory(tensor->nbytes);
    if (fread(array, 1, (size_t)tensor->nbytes, stdin) != (size_t)tensor->nbytes) {
      fprintf(stderr, "run_model: expected %lld bytes of %s '%s'\n", (long long)tensor->nbytes, tensor->dtype,
              tensor->name);
      return 1;
    }
    inputs[k] = array;
  }
  pool = whence_pool_create(2);

  pthread_t threads[64];
  void **outputs[64];
  if (callers < 1 || callers > 64) callers = 1;
  for (int k = 0; k < callers; k++)
    if (pthread_create(&threads[k], NULL, caller, NULL)) return 1;
  for (int k = 0; k < callers; k++) pthread_join(threads[k], (void **)&outputs[k]);
  whence_pool_destroy(pool);

  for (int32_t o = 0; o < whence_num_outputs; o++) {
    for (int k = 1; k < callers; k++)
      if (memcmp(outputs[0][o], outputs[k][o], (size_t)whence_outputs[o].nbytes)) {
        fprintf(stderr, "run_model: callers disagree about '%s'\n", whence_outputs[o].name);
        return 1;
      }
    fwrite(outputs[0][o], 1, (size_t)whence_outputs[o].nbytes, stdout);
  }
  return 0;
}
