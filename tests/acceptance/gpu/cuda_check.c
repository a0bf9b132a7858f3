/* Computes on every CUDA device that the process sees, through the driver's library alone, and compares the results with
 * those of the processor. Prints one line of JSON; ends with 1 if a result differs or a call of the driver fails.
 *
 * Usage: cuda_check SECONDS     computes until SECONDS have passed, at least once
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { VALUES = 1 << 24, ROUNDS = 4096, THREADS = 256, STEP = 65521, NAME = 128 };

/* Each value is its index, changed ROUNDS times by a linear congruential step and a shift. */
static const char program[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry mix(.param .u64 out, .param .u32 values, .param .u32 rounds) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d1, [out]; ld.param.u32 %r1, [values]; ld.param.u32 %r2, [rounds];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "mad.lo.u32 %r6, %r3, %r4, %r5;\n"
    "setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE;\n"
    "mov.u32 %r7, %r6;\n"
    "LOOP: setp.eq.u32 %p2, %r2, 0; @%p2 bra STORE;\n"
    "mad.lo.u32 %r7, %r7, 1664525, 1013904223; shr.u32 %r8, %r7, 13; xor.b32 %r7, %r7, %r8;\n"
    "sub.u32 %r2, %r2, 1; bra LOOP;\n"
    "STORE: cvta.to.global.u64 %d2, %d1; mul.wide.u32 %d3, %r6, 4; add.u64 %d4, %d2, %d3;\n"
    "st.global.u32 [%d4], %r7;\n"
    "DONE: ret;\n}\n";

static uint32_t expected(uint32_t value) {
    for (int round = 0; round < ROUNDS; round++) {
        value = value * 1664525u + 1013904223u;
        value ^= value >> 13;
    }
    return value;
}

static void *driver;

static void *entry(const char *name) {
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "error: the driver has no %s\n", name);
        exit(1);
    }
    return found;
}

static void check(int status, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "error: %s: CUDA error %d\n", what, status);
    exit(1);
}

#define CALL(name, types, ...) check(((int (*) types)entry(#name))(__VA_ARGS__), #name)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns the number of wrong values among those compared. */
static unsigned compute(int device, double seconds, unsigned *launches) {
    void *context, *module, *function;
    uint64_t memory;
    uint32_t values = VALUES, rounds = ROUNDS, *copy = malloc((size_t)VALUES * sizeof *copy);
    void *parameters[] = {&memory, &values, &rounds};
    unsigned wrong = 0;
    double end = now() + seconds;
    if (!copy) check(1, "malloc");
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuModuleLoadData, (void **, const void *), &module, program);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, "mix");
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &memory, (size_t)VALUES * sizeof *copy);
    do {
        CALL(cuLaunchKernel,
             (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
             function, VALUES / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL);
        CALL(cuCtxSynchronize, (void));
        ++*launches;
    } while (now() < end);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), copy, memory, (size_t)VALUES * sizeof *copy);
    for (uint32_t index = 0; index < VALUES; index += STEP) wrong += copy[index] != expected(index);
    CALL(cuMemFree_v2, (uint64_t), memory);
    CALL(cuDevicePrimaryCtxRelease_v2, (int), device);
    free(copy);
    return wrong;
}

int main(int count, char **arguments) {
    int devices = 0;
    unsigned wrong = 0;
    double seconds = count > 1 ? atof(arguments[1]) : 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "error: %s\n", dlerror());
        return 1;
    }
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGetCount, (int *), &devices);
    printf("{\"devices\": [");
    for (int device = 0; device < devices; device++) {
        char name[NAME] = "";
        unsigned char uuid[16];
        size_t bytes;
        unsigned launches = 0;
        CALL(cuDeviceGetName, (char *, int, int), name, NAME, device);
        CALL(cuDeviceGetUuid_v2, (unsigned char *, int), uuid, device);
        CALL(cuDeviceTotalMem_v2, (size_t *, int), &bytes, device);
        wrong += compute(device, seconds, &launches);
        printf("%s{\"model\": \"%s\", \"uuid\": \"GPU-", device ? ", " : "", name);
        for (int byte = 0; byte < 16; byte++)
            printf("%s%02x", byte == 4 || byte == 6 || byte == 8 || byte == 10 ? "-" : "", uuid[byte]);
        printf("\", \"memory_mib\": %zu, \"launches\": %u}", bytes >> 20, launches);
    }
    printf("], \"wrong\": %u}\n", wrong);
    return devices == 0 || wrong != 0;
}
