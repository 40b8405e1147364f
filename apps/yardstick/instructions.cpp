#include "apps/yardstick/instructions.hpp"

// Registers are added, no constants: Golden Cove and later add small constants while they rename
// registers, in no time (Intel, "64 and IA-32 Architectures Optimization Reference Manual").
#if defined(__x86_64__)
    #define PINSTUDY_LOOP \
        ".balign 64\n1:\n.rept 100\nadd %[step], %[sum]\n.endr\ndec %[left]\njnz 1b"
#elif defined(__aarch64__)
    #define PINSTUDY_LOOP                                                               \
        ".balign 64\n1:\n.rept 100\nadd %[sum], %[sum], %[step]\n.endr\nsubs %[left], " \
        "%[left], #1\nb.ne 1b"
#elif defined(__riscv) && __riscv_xlen == 64
    #define PINSTUDY_LOOP                                                               \
        ".balign 64\n1:\n.rept 100\nadd %[sum], %[sum], %[step]\n.endr\naddi %[left], " \
        "%[left], -1\nbnez %[left], 1b"
#endif

namespace pinstudy::yardstick {

#ifdef PINSTUDY_LOOP

bool loop_is_exact() {
    return true;
}

void run_loop(std::int64_t turns) {
    if (turns <= 0) {
        return;
    }
    std::uint64_t sum = 0;
    std::uint64_t step = 3;
    asm volatile(PINSTUDY_LOOP : [sum] "+r"(sum), [left] "+r"(turns) : [step] "r"(step) : "cc");
}

#else

bool loop_is_exact() {
    return false;
}

void run_loop(std::int64_t turns) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < turns * kAdditions; ++i) {
        asm volatile("" : "+r"(sum));
        sum += 3;
    }
}

#endif

}  // namespace pinstudy::yardstick
