#include "apps/threadmap/start_mask.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace pinstudy::threadmap {
namespace {

constexpr int kBitsOfWord = static_cast<int>(sizeof(unsigned long)) * CHAR_BIT;

// 65536 CPUs, as many as apps/common/affinity.cpp knows. Filled once, before the program begins.
std::array<unsigned long, 65536 / kBitsOfWord> mask;
long bytes_read = 0;

// Sanitizers are not set up yet when this runs, and the C library only just.
#if defined(__clang__)
__attribute__((disable_sanitizer_instrumentation))
#else
__attribute__((no_sanitize("address", "undefined", "thread")))
#endif
void read_mask(int /*argc*/, char** /*argv*/, char** /*environment*/) {
    bytes_read = syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask);
}

// The loader calls what stands here before the constructors of any shared library (gABI, "Dynamic
// Linking": DT_PREINIT_ARRAY). A C library without this leaves the mask empty.
__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**,
                                                                                char**) = read_mask;

}  // namespace

Cpus mask_at_start() {
    if (bytes_read <= 0) {
        return allowed_cpus();
    }
    Cpus cpus;
    for (int cpu = 0; cpu < static_cast<int>(bytes_read) * CHAR_BIT; ++cpu) {
        const unsigned long word = mask[static_cast<std::size_t>(cpu / kBitsOfWord)];
        if ((word >> (cpu % kBitsOfWord) & 1UL) != 0) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

}  // namespace pinstudy::threadmap
