/* Runs the two functions of a compiled program on numbers from standard input, as NumPy would:
   int64 mode (0: dalembert_loop, 1: dalembert_one), states, threads, inputs, ports, steps;
   the steps; the bytes of every port; then the ports themselves, which go back to standard output. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <string.h>
#define aligned_alloc(alignment, bytes) _aligned_malloc(bytes, alignment)
int _fltused = 1; /* what Microsoft's own C library defines for whoever uses floating point */
__asm__(".globl __chkstk\n__chkstk: jmp ___chkstk_ms");
#else
#include <pthread.h>
#endif

extern void dalembert_loop(char **args, int64_t *dimensions, int64_t *steps, void *data);
extern void dalembert_one(void *const *in, void *const *out);
unsigned dalembert_stack_key;

#ifdef _WIN32
/* Microsoft's convention: xmm6 to xmm15 belong to the caller. They are filled, and looked at again. */
static int called(void *const *in, void *const *out) {
    unsigned char before[160], after[160];
    memset(before, 0x5a, sizeof before);
    __asm__ volatile(
        "movdqu (%0), %%xmm6; movdqu 16(%0), %%xmm7; movdqu 32(%0), %%xmm8; movdqu 48(%0), %%xmm9;"
        "movdqu 64(%0), %%xmm10; movdqu 80(%0), %%xmm11; movdqu 96(%0), %%xmm12;"
        "movdqu 112(%0), %%xmm13; movdqu 128(%0), %%xmm14; movdqu 144(%0), %%xmm15;"
        "movq %%rsp, %%r14; andq $-64, %%rsp; subq $64, %%rsp; call dalembert_one;"
        "movq %%r14, %%rsp;"
        "movdqu %%xmm6, (%1); movdqu %%xmm7, 16(%1); movdqu %%xmm8, 32(%1); movdqu %%xmm9, 48(%1);"
        "movdqu %%xmm10, 64(%1); movdqu %%xmm11, 80(%1); movdqu %%xmm12, 96(%1);"
        "movdqu %%xmm13, 112(%1); movdqu %%xmm14, 128(%1); movdqu %%xmm15, 144(%1);"
        : : "b"(before), "S"(after), "c"(in), "d"(out)
        : "rax", "r8", "r9", "r10", "r11", "r14", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
          "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
          "memory", "cc");
    return memcmp(before, after, sizeof before);
}
#else
static int called(void *const *in, void *const *out) {
    dalembert_one(in, out);
    return 0;
}
#endif

static void take(void *place, size_t bytes) {
    if (fread(place, 1, bytes, stdin) != bytes) exit(2);
}

int main(void) {
    int64_t head[6], *steps, *sizes;
    char **ports;
    int32_t settings[4] = {0};
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#else
    if (pthread_key_create(&dalembert_stack_key, NULL)) return 3;
#endif
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
    if (!head[0]) dalembert_loop(ports, &head[1], steps, head[2] ? settings : NULL);
    else if (called((void *const *)ports, (void *const *)(ports + head[3]))) return 4;
    for (int64_t k = 0; k < head[4]; k++) fwrite(ports[k], 1, sizes[k], stdout);
    return 0;
}
