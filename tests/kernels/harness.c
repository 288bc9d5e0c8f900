/* Runs the two functions of a compiled program on numbers from standard input, as NumPy would:
   int64 mode (0: dalembert_loop, 1: dalembert_one), states, threads, inputs, ports, steps;
   the steps; the bytes of every port; then the ports themselves, which go back to standard output. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>

extern void dalembert_loop(char **args, int64_t *dimensions, int64_t *steps, void *data);
extern void dalembert_one(void *const *in, void *const *out);
unsigned dalembert_stack_key;

static void take(void *place, size_t bytes) {
    if (fread(place, 1, bytes, stdin) != bytes) exit(2);
}

int main(void) {
    int64_t head[6], *steps, *sizes;
    char **ports;
    int32_t settings[4] = {0};
    if (pthread_key_create(&dalembert_stack_key, NULL)) return 3;
    take(head, sizeof head);
    steps = malloc(8 * (head[5] + 1));
    sizes = malloc(8 * head[4]);
    ports = malloc(sizeof *ports * head[4]);
    take(steps, 8 * head[5]);
    take(sizes, 8 * head[4]);
    for (int64_t k = 0; k < head[4]; k++) {
        ports[k] = aligned_alloc(64, (sizes[k] + 127) / 64 * 64);
        take(ports[k], sizes[k]);
    }
    settings[0] = (int32_t)head[2];
    if (head[0]) dalembert_one((void *const *)ports, (void *const *)(ports + head[3]));
    else dalembert_loop(ports, &head[1], steps, head[2] ? settings : NULL);
    for (int64_t k = 0; k < head[4]; k++) fwrite(ports[k], 1, sizes[k], stdout);
    return 0;
}
