/* Stands in for libnvidia-ml.so.1, so that nvidia-ml-py and everything above it run on machines without a GPU.
 *
 * The file named by GANTRY_NVML_STUB says what there is; it is read anew at every call. Lines, each with its fields
 * separated by spaces and the name last:
 *
 *   driver 560.35.03
 *   gpu  UUID STATE MIG VRAM_MIB UNCORRECTED NAME       STATE: ok | lost | gone;  MIG: 0 | 1;  UNCORRECTED: -1 without ECC
 *   load GPU_UUID BUSY_PERCENT USED_MIB                 without it: 0 and 0
 *   sensors GPU_UUID CELSIUS MILLIWATTS SM_MHZ MEMORY_MHZ GENERATION LANES SENT_KIB RECEIVED_KIB LINKS REASONS
 *                                                       without it: not supported; LINKS: all of them active
 *   counters GPU_UUID PCIE_REPLAYS SENT_KIB RECEIVED_KIB REPLAYS RECOVERIES CRC_FLIT CRC_DATA ECC_DATA
 *                                                       without it, and for -1: not supported; all but the first are
 *                                                       of each NVLink link
 *   mig  GPU_UUID UUID INSTANCE VRAM_MIB NAME
 *   event NUMBER GPU_UUID TYPE DATA INSTANCE            NUMBER grows; an event is given to each event set once;
 *                                                       INSTANCE 4294967295: of the whole GPU
 *
 * A GPU that is "gone" is not listed by a library that is opened then; for one that was opened before it is lost.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9,
    TIMEOUT = 10, GPU_IS_LOST = 15, INSUFFICIENT_SIZE = 7,
};
enum { CELSIUS, MILLIWATTS, SM_MHZ, MEMORY_MHZ, GENERATION, LANES, SENT_KIB, RECEIVED_KIB, LINKS, REASONS, SENSORS };
enum { PCIE_REPLAYS, LINK_SENT_KIB, LINK_RECEIVED_KIB, LINK_ERRORS, COUNTERS = LINK_ERRORS + 5 };
enum { FIELD_LINK_SENT = 138, FIELD_LINK_RECEIVED = 139 };
enum { MOST_GPUS = 16, MOST_SLICES = 7, MOST_EVENTS = 256, NAME = 96 };

struct slice { char uuid[NAME], name[NAME]; unsigned instance; unsigned long long mib; };
struct gpu {
    char uuid[NAME], name[NAME], state[16];
    int mig, slices;
    unsigned busy;
    unsigned long long used_mib;
    long uncorrected;
    unsigned long long mib;
    int has_sensors;
    unsigned sensor[SENSORS];
    long long counter[COUNTERS];
    struct slice slice[MOST_SLICES];
};
struct event { unsigned long number; char gpu[NAME]; unsigned long long type, data; unsigned instance; };
struct world { char driver[NAME]; int gpus, events; struct gpu gpu[MOST_GPUS]; struct event event[MOST_EVENTS]; };

/* What a handle points at: it outlives the world that it was made from, as a driver's handle does. */
struct device { char uuid[NAME], parent[NAME]; };
struct event_set { unsigned long seen; char gpu[MOST_GPUS][NAME]; int gpus; };
struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
struct field_value {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    union { double d; unsigned u; unsigned long long ull; } value;
};
struct event_data { struct device *device; unsigned long long type, data; unsigned instance, compute; };

static int opened;
static struct device known[MOST_GPUS * (MOST_SLICES + 1)];
static int known_count;
static char listed[MOST_GPUS][NAME];
static int listed_count;

static int look(struct world *world) {
    const char *path = getenv("GANTRY_NVML_STUB");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    memset(world, 0, sizeof *world);
    if (!file) return DRIVER_NOT_LOADED;
    while (fgets(line, sizeof line, file)) {
        char parent[NAME];
        struct gpu *gpu = &world->gpu[world->gpus < MOST_GPUS ? world->gpus : 0];
        struct event *event = &world->event[world->events < MOST_EVENTS ? world->events : 0];
        struct slice slice;
        unsigned busy;
        unsigned long long used_mib;
        unsigned s[SENSORS];
        long long c[COUNTERS];
        memset(&slice, 0, sizeof slice);
        if (sscanf(line, "driver %95s", world->driver) == 1) continue;
        if (world->gpus < MOST_GPUS && sscanf(line, "gpu %95s %15s %d %llu %ld %95[^\n]", gpu->uuid, gpu->state, &gpu->mig,
                                              &gpu->mib, &gpu->uncorrected, gpu->name) == 6) {
            for (int i = 0; i < COUNTERS; i++) gpu->counter[i] = -1;
            world->gpus++;
        } else if (sscanf(line, "load %95s %u %llu", parent, &busy, &used_mib) == 3) {
            for (int i = 0; i < world->gpus; i++)
                if (!strcmp(world->gpu[i].uuid, parent)) world->gpu[i].busy = busy, world->gpu[i].used_mib = used_mib;
        } else if (sscanf(line, "sensors %95s %u %u %u %u %u %u %u %u %u %u", parent, &s[0], &s[1], &s[2], &s[3], &s[4],
                          &s[5], &s[6], &s[7], &s[8], &s[9]) == 1 + SENSORS) {
            for (int i = 0; i < world->gpus; i++)
                if (!strcmp(world->gpu[i].uuid, parent)) {
                    world->gpu[i].has_sensors = 1;
                    memcpy(world->gpu[i].sensor, s, sizeof s);
                }
        } else if (sscanf(line, "counters %95s %lld %lld %lld %lld %lld %lld %lld %lld", parent, &c[0], &c[1], &c[2], &c[3],
                          &c[4], &c[5], &c[6], &c[7]) == 1 + COUNTERS) {
            for (int i = 0; i < world->gpus; i++)
                if (!strcmp(world->gpu[i].uuid, parent)) memcpy(world->gpu[i].counter, c, sizeof c);
        } else if (sscanf(line, "mig %95s %95s %u %llu %95[^\n]", parent, slice.uuid, &slice.instance, &slice.mib,
                          slice.name) == 5) {
            for (int i = 0; i < world->gpus; i++)
                if (!strcmp(world->gpu[i].uuid, parent) && world->gpu[i].slices < MOST_SLICES)
                    world->gpu[i].slice[world->gpu[i].slices++] = slice;
        } else if (world->events < MOST_EVENTS && sscanf(line, "event %lu %95s %llu %llu %u", &event->number, event->gpu,
                                                         &event->type, &event->data, &event->instance) == 5) {
            world->events++;
        }
    }
    fclose(file);
    return SUCCESS;
}

static struct device *handle_of(const char *uuid, const char *parent) {
    for (int i = 0; i < known_count; i++)
        if (!strcmp(known[i].uuid, uuid)) return &known[i];
    if (known_count == (int)(sizeof known / sizeof *known)) return NULL;
    snprintf(known[known_count].uuid, NAME, "%s", uuid);
    snprintf(known[known_count].parent, NAME, "%s", parent);
    return &known[known_count++];
}

static int is_listed(const char *uuid) {
    for (int i = 0; i < listed_count; i++)
        if (!strcmp(listed[i], uuid)) return 1;
    return 0;
}

/* The device behind a handle as it is now. */
static int find(struct world *world, const struct device *device, struct gpu **gpu, struct slice **slice) {
    int result = opened ? look(world) : UNINITIALIZED;
    if (result) return result;
    const char *wanted = device->parent[0] ? device->parent : device->uuid;
    *slice = NULL;
    for (int i = 0; i < world->gpus; i++) {
        if (strcmp(world->gpu[i].uuid, wanted)) continue;
        *gpu = &world->gpu[i];
        if (strcmp((*gpu)->state, "ok") || !is_listed(wanted)) return GPU_IS_LOST;
        if (!device->parent[0]) return SUCCESS;
        for (int j = 0; j < (*gpu)->slices; j++)
            if (!strcmp((*gpu)->slice[j].uuid, device->uuid)) {
                *slice = &(*gpu)->slice[j];
                return SUCCESS;
            }
        return NOT_FOUND;
    }
    return GPU_IS_LOST;
}

static int text(const char *from, char *to, unsigned length) {
    if (strlen(from) >= length) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    struct world world;
    (void)flags;
    int result = look(&world);
    if (result) return result;
    opened++;
    listed_count = 0;
    for (int i = 0; i < world.gpus; i++)
        if (strcmp(world.gpu[i].state, "gone")) snprintf(listed[listed_count++], NAME, "%s", world.gpu[i].uuid);
    return SUCCESS;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    if (!opened) return UNINITIALIZED;
    opened--;
    return SUCCESS;
}
const char *nvmlErrorString(int result) {
    switch (result) {
    case NOT_FOUND: return "Not Found";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case GPU_IS_LOST: return "GPU is lost";
    default: return "Stand-in error";
    }
}
int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    struct world world;
    int result = look(&world);
    return result ? result : text(world.driver, version, length);
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!opened) return UNINITIALIZED;
    *count = (unsigned)listed_count;
    return SUCCESS;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    if (!opened) return UNINITIALIZED;
    if (index >= (unsigned)listed_count) return INVALID_ARGUMENT;
    *device = handle_of(listed[index], "");
    return *device ? find(&world, *device, &gpu, &slice) : INVALID_ARGUMENT;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **device) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = opened ? look(&world) : UNINITIALIZED;
    if (result) return result;
    for (int i = 0; i < world.gpus; i++) {
        if (!is_listed(world.gpu[i].uuid)) continue;
        if (!strcmp(world.gpu[i].uuid, uuid)) *device = handle_of(uuid, "");
        else {
            int found = 0;
            for (int j = 0; j < world.gpu[i].slices; j++) found |= !strcmp(world.gpu[i].slice[j].uuid, uuid);
            if (!found) continue;
            *device = handle_of(uuid, world.gpu[i].uuid);
        }
        return *device ? find(&world, *device, &gpu, &slice) : INVALID_ARGUMENT;
    }
    return NOT_FOUND;
}
int nvmlDeviceGetName(struct device *device, char *name, unsigned length) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    return result ? result : text(slice ? slice->name : gpu->name, name, length);
}
int nvmlDeviceGetUUID(struct device *device, char *uuid, unsigned length) { return text(device->uuid, uuid, length); }
int nvmlDeviceGetMemoryInfo(struct device *device, struct memory *memory) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    memory->total = memory->free = (slice ? slice->mib : gpu->mib) << 20;
    memory->used = slice ? 0 : gpu->used_mib << 20;
    return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(struct device *device, struct utilization *utilization) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (slice) return NOT_SUPPORTED;
    utilization->gpu = utilization->memory = gpu->busy;
    return SUCCESS;
}
int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *pending) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    *now = *pending = (unsigned)gpu->mig;
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(struct device *device, unsigned *count) {
    (void)device;
    *count = MOST_SLICES;
    return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(struct device *device, unsigned index, struct device **found) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (index >= (unsigned)gpu->slices) return NOT_FOUND;
    *found = handle_of(gpu->slice[index].uuid, gpu->uuid);
    return *found ? SUCCESS : INVALID_ARGUMENT;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct device *device, struct device **parent) {
    if (!device->parent[0]) return INVALID_ARGUMENT;
    *parent = handle_of(device->parent, "");
    return *parent ? SUCCESS : INVALID_ARGUMENT;
}
int nvmlDeviceGetGpuInstanceId(struct device *device, unsigned *id) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (!slice) return NOT_SUPPORTED;
    *id = slice->instance;
    return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(struct device *device, int kind, int counter, unsigned long long *count) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    (void)kind, (void)counter;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (gpu->uncorrected < 0) return NOT_SUPPORTED;
    *count = (unsigned long long)gpu->uncorrected;
    return SUCCESS;
}
static int sensor(struct device *device, int which, unsigned *value) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (slice || !gpu->has_sensors) return NOT_SUPPORTED;
    *value = gpu->sensor[which];
    return SUCCESS;
}
int nvmlDeviceGetTemperature(struct device *device, int kind, unsigned *value) {
    return kind ? INVALID_ARGUMENT : sensor(device, CELSIUS, value);
}
int nvmlDeviceGetPowerUsage(struct device *device, unsigned *value) { return sensor(device, MILLIWATTS, value); }
int nvmlDeviceGetClockInfo(struct device *device, int kind, unsigned *value) {
    return kind != 1 && kind != 2 ? INVALID_ARGUMENT : sensor(device, kind == 1 ? SM_MHZ : MEMORY_MHZ, value);
}
int nvmlDeviceGetCurrPcieLinkGeneration(struct device *device, unsigned *value) { return sensor(device, GENERATION, value); }
int nvmlDeviceGetCurrPcieLinkWidth(struct device *device, unsigned *value) { return sensor(device, LANES, value); }
int nvmlDeviceGetPcieThroughput(struct device *device, int kind, unsigned *value) {
    return sensor(device, kind ? RECEIVED_KIB : SENT_KIB, value);
}
int nvmlDeviceGetNvLinkState(struct device *device, unsigned link, unsigned *active) {
    unsigned links;
    int result = sensor(device, LINKS, &links);
    if (result) return result;
    if (link >= links) return INVALID_ARGUMENT;
    *active = 1;
    return SUCCESS;
}
static int counter(struct device *device, int which, unsigned long long *value) {
    struct world world;
    struct gpu *gpu;
    struct slice *slice;
    int result = find(&world, device, &gpu, &slice);
    if (result) return result;
    if (slice || gpu->counter[which] < 0) return NOT_SUPPORTED;
    *value = (unsigned long long)gpu->counter[which];
    return SUCCESS;
}
int nvmlDeviceGetPcieReplayCounter(struct device *device, unsigned *value) {
    unsigned long long found;
    int result = counter(device, PCIE_REPLAYS, &found);
    if (!result) *value = (unsigned)found;
    return result;
}
int nvmlDeviceGetNvLinkErrorCounter(struct device *device, unsigned link, int kind, unsigned long long *value) {
    unsigned links;
    int result = sensor(device, LINKS, &links);
    if (result) return result;
    if (link >= links || kind < 0 || kind >= COUNTERS - LINK_ERRORS) return INVALID_ARGUMENT;
    return counter(device, LINK_ERRORS + kind, value);
}
int nvmlDeviceGetFieldValues(struct device *device, int count, struct field_value *values) {
    unsigned links;
    int result = sensor(device, LINKS, &links);
    for (int i = 0; i < count; i++) {
        struct field_value *one = &values[i];
        int which = one->field == FIELD_LINK_SENT ? LINK_SENT_KIB : LINK_RECEIVED_KIB;
        one->result = one->field != FIELD_LINK_SENT && one->field != FIELD_LINK_RECEIVED ? NOT_SUPPORTED : result;
        if (one->result) continue;
        one->result = counter(device, which, &one->value.ull);
        if (!one->result && one->scope == ~0u) one->value.ull *= links;
    }
    return SUCCESS;
}
int nvmlDeviceGetCurrentClocksEventReasons(struct device *device, unsigned long long *reasons) {
    unsigned bits;
    int result = sensor(device, REASONS, &bits);
    if (!result) *reasons = bits;
    return result;
}
int nvmlEventSetCreate(struct event_set **set) {
    struct world world;
    int result = opened ? look(&world) : UNINITIALIZED;
    if (result) return result;
    *set = calloc(1, sizeof **set);
    for (int i = 0; i < world.events; i++)
        if (world.event[i].number > (*set)->seen) (*set)->seen = world.event[i].number;
    return SUCCESS;
}
int nvmlDeviceRegisterEvents(struct device *device, unsigned long long types, struct event_set *set) {
    (void)types;
    if (set->gpus < MOST_GPUS) snprintf(set->gpu[set->gpus++], NAME, "%s", device->uuid);
    return SUCCESS;
}
int nvmlEventSetWait_v2(struct event_set *set, struct event_data *data, unsigned timeout_ms) {
    struct timespec pause = {0, 5 * 1000 * 1000}, began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (;;) {
        struct world world;
        int result = opened ? look(&world) : UNINITIALIZED;
        if (result) return result;
        for (int i = 0; i < world.events; i++) {
            struct event *event = &world.event[i];
            if (event->number <= set->seen) continue;
            set->seen = event->number;
            for (int j = 0; j < set->gpus; j++) {
                if (strcmp(set->gpu[j], event->gpu)) continue;
                *data = (struct event_data){handle_of(event->gpu, ""), event->type, event->data, event->instance, ~0u};
                return SUCCESS;
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 >= (long)timeout_ms) return TIMEOUT;
        nanosleep(&pause, NULL);
    }
}
int nvmlEventSetFree(struct event_set *set) {
    free(set);
    return SUCCESS;
}
