// Kernels of a challenge, for CUDA and HIP, compiled at run time. They compute what offchain/schema/challenge defines in
// numpy. A C compiler compiles them as well: without a GPU one lane of one thread does all the work (tests do this).

typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)
#define LANES 32
#else
#define KERNEL void
#define DEVICE static inline
#define FIRST 0ull
#define STRIDE 1ull
#define LANES 1
#endif

#if defined(__CUDACC__)
#define ALIGNED __align__(16)
#else
#define ALIGNED __attribute__((aligned(16)))
#endif

typedef struct ALIGNED {
    u32 x, y, z, w;
} Quad;

#define GOLDEN 0x9E3779B9u

DEVICE u32 mix(u32 x) {
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ (x >> 16);
}

// The sum over the 32 lanes that work together.
DEVICE u32 lane_sum(u32 value) {
#if LANES > 1
    for (int distance = 16; distance > 0; distance /= 2) {
#if defined(__HIP__)
        value += __shfl_xor(value, distance, 32);
#else
        value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
#endif
    }
#endif
    return value;
}

// The bits of a half-precision number in [-8, 7], from the number plus 8.
DEVICE u32 half_bits(u32 entry) {
    u32 is_negative = entry < 8;
    u32 size = is_negative ? 8 - entry : entry - 8;
    u32 high = size == 8 ? 0x48u : (u32)(0x4746454442403C00ull >> (8 * size)) & 0xFFu;
    return (high | is_negative << 7) << 8;
}

DEVICE u32 two_halves(u32 word, u32 place) {
    return half_bits(word >> (4 * place) & 15) | half_bits(word >> (4 * place + 4) & 15) << 16;
}

// Rows first_row .. first_row + rows - 1 of a matrix in half precision; `words` words of 8 entries in each row.
KERNEL matrix_rows(Quad *out, u32 first_row, u32 rows, u32 words, u32 key0, u32 key1) {
    for (u64 at = FIRST; at < (u64)rows * words; at += STRIDE) {
        u32 row = (u32)(at / words), column = (u32)(at % words);
        u32 word = mix(mix((first_row + row) ^ key0) ^ mix(column ^ key1));
        Quad entries = {two_halves(word, 0), two_halves(word, 2), two_halves(word, 4), two_halves(word, 6)};
        out[at] = entries;
    }
}

// A fingerprint of each row of a product.
KERNEL row_fingerprints(const float *product, u64 *out, u32 rows, u32 columns, u32 key) {
    u32 lane = (u32)(FIRST % LANES);
    for (u64 row = FIRST / LANES; row < rows; row += STRIDE / LANES) {
        u32 low = 0, high = 0;
        for (u32 column = lane; column < columns; column += LANES) {
            u32 hashed = mix(((u32)(int)product[row * columns + column] + column * GOLDEN) ^ key);
            low += hashed;
            high += hashed * (2 * column + 1);
        }
        low = lane_sum(low);
        high = lane_sum(high);
        if (lane == 0) out[row] = low | (u64)high << 32;
    }
}

// The initial content of all pages. A group is 8 words; a page has 2^group_bits groups.
KERNEL fill_pages(Quad *pages, u32 count, u32 group_bits, u32 key0, u32 key1) {
    for (u64 at = FIRST; at < (u64)count << group_bits; at += STRIDE) {
        u32 row = mix((u32)(at >> group_bits) ^ key0);
        u32 place = ((u32)at & ((1u << group_bits) - 1)) * 8;
        u32 words[8];
        for (u32 j = 0; j < 8; j++) words[j] = mix(row ^ mix((place + j) ^ key1));
        Quad first = {words[0], words[1], words[2], words[3]}, second = {words[4], words[5], words[6], words[7]};
        pages[2 * at] = first;
        pages[2 * at + 1] = second;
    }
}

#define TURN(x, bits) (((x) << (bits)) | ((x) >> (32 - (bits))))
#define QUARTER(a, b, c, d)                                                                                            \
    a += b; d ^= a; d = TURN(d, 16);                                                                                   \
    c += d; b ^= c; b = TURN(b, 12);                                                                                   \
    a += b; d ^= a; d = TURN(d, 8);                                                                                    \
    c += d; b ^= c; b = TURN(b, 7);

// One layer: lower page p and upper page (factor p + offset) mod half are replaced by a one-way function of both.
KERNEL mix_layer(Quad *pages, u32 half, u32 group_bits, u32 factor, u32 offset, u32 key0, u32 key1, u32 key2, u32 key3) {
    for (u64 at = FIRST; at < (u64)half << group_bits; at += STRIDE) {
        u32 pair = (u32)(at >> group_bits);
        u32 group = (u32)at & ((1u << group_bits) - 1);
        u32 partner = (u32)(((u64)factor * pair + offset) % half);
        Quad *lower = pages + 2 * at;
        Quad *upper = pages + 2 * ((((u64)half + partner) << group_bits) + group);
        Quad a = lower[0], b = lower[1], c = upper[0], d = upper[1];
        u32 s0 = a.x ^ key0, s1 = a.y ^ key1, s2 = a.z ^ key2, s3 = a.w ^ key3;
        u32 s4 = b.x ^ pair, s5 = b.y, s6 = b.z, s7 = b.w;
        u32 s8 = c.x, s9 = c.y, s10 = c.z, s11 = c.w, s12 = d.x, s13 = d.y, s14 = d.z, s15 = d.w;
        for (int round = 0; round < 2; round++) {
            QUARTER(s0, s4, s8, s12)
            QUARTER(s1, s5, s9, s13)
            QUARTER(s2, s6, s10, s14)
            QUARTER(s3, s7, s11, s15)
            QUARTER(s0, s5, s10, s15)
            QUARTER(s1, s6, s11, s12)
            QUARTER(s2, s7, s8, s13)
            QUARTER(s3, s4, s9, s14)
        }
        a.x += s0; a.y += s1; a.z += s2; a.w += s3;
        b.x += s4; b.y += s5; b.z += s6; b.w += s7;
        c.x += s8; c.y += s9; c.z += s10; c.w += s11;
        d.x += s12; d.y += s13; d.z += s14; d.w += s15;
        lower[0] = a;
        lower[1] = b;
        upper[0] = c;
        upper[1] = d;
    }
}

DEVICE void absorb(u32 word, u32 place, u32 state, u32 *low, u32 *high) {
    u32 hashed = (word ^ (place * GOLDEN + state)) * 0x7FEB352Du;
    hashed ^= hashed >> 15;
    *low += hashed;
    *high += hashed * (2 * place + 1);
}

// The state at the end of each chain of reads. 32 lanes read one page together.
KERNEL read_chains(const Quad *pages, u64 *out, u32 page_count, u32 group_bits, u32 reads, u32 first_chain, u32 chains,
                   u32 key0, u32 key1) {
    u32 lane = (u32)(FIRST % LANES);
    for (u64 chain = FIRST / LANES; chain < chains; chain += STRIDE / LANES) {
        u32 row = mix((first_chain + (u32)chain) ^ key0);
        u32 first = mix(row ^ mix(key1)), second = mix(row ^ mix(1u ^ key1));
        for (u32 read = 0; read < reads; read++) {
            u64 page = (u64)first * page_count >> 32;
            u32 low = 0, high = 0;
            for (u32 quad = lane; quad < 2u << group_bits; quad += LANES) {
                Quad words = pages[(page << (group_bits + 1)) + quad];
                absorb(words.x, 4 * quad, second, &low, &high);
                absorb(words.y, 4 * quad + 1, second, &low, &high);
                absorb(words.z, 4 * quad + 2, second, &low, &high);
                absorb(words.w, 4 * quad + 3, second, &low, &high);
            }
            low = lane_sum(low);
            high = lane_sum(high);
            u32 next = mix(low ^ second);
            second = mix(high + first);
            first = next;
        }
        if (lane == 0) out[chain] = first | (u64)second << 32;
    }
}
