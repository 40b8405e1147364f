#include "apps/threadmap/start_mask.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace pinstudy::threadmap {
namespace {

// 65536 CPUs, as many as apps/common/affinity.cpp knows. Filled once, before the program begins.
std::array<cpu_set_t, 65536 / CPU_SETSIZE> mask;
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

// The loader calls this before the constructors of any shared library (gABI, "Dynamic
// Linking": DT_PREINIT_ARRAY). A C library without this leaves the mask empty.
__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**,
                                                                                char**) = read_mask;

}  // namespace

Cpus mask_at_start() {
    if (bytes_read <= 0) {
        return allowed_cpus();
    }
    Cpus cpus;
    for (unsigned cpu = 0; cpu < static_cast<unsigned>(8 * bytes_read); ++cpu) {
        if (CPU_ISSET_S(cpu, sizeof mask, mask.data())) {
            cpus.push_back(static_cast<int>(cpu));
        }
    }
    return cpus;
}

}  // namespace pinstudy::threadmap
