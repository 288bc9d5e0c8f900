/* Just enough of CUDA to run exported kernels on the CPU: one thread per lane, warp after warp. */
#include <cmath>
#include <cstddef>
#include <pthread.h>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct Index { unsigned x; };
static thread_local Index threadIdx, blockIdx;
static Index blockDim;
static pthread_barrier_t barrier;

static void __syncwarp() { pthread_barrier_wait(&barrier); }
static unsigned long long atomicAdd(unsigned long long *at, unsigned long long more)
{
    return __atomic_fetch_add(at, more, __ATOMIC_RELAXED);
}

/* Runs kernel() for every lane of every warp; lanes of one warp run together, as on the device. */
template <class Kernel> static void launch(long long count, unsigned threads, Kernel kernel)
{
    blockDim.x = threads;
    const long long blocks = (count + threads - 1) / threads;
    for (long long block = 0; block < blocks; block++) {
        for (unsigned warp = 0; warp < threads / 32; warp++) {
            std::vector<std::thread> lanes;
            pthread_barrier_init(&barrier, nullptr, 32);
            for (unsigned lane = 0; lane < 32; lane++) {
                lanes.emplace_back([=] {
                    threadIdx.x = 32 * warp + lane;
                    blockIdx.x = (unsigned)block;
                    kernel();
                });
            }
            for (auto &lane : lanes) lane.join();
            pthread_barrier_destroy(&barrier);
        }
    }
}
