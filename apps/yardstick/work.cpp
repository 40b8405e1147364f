#include "apps/yardstick/work.hpp"

#if defined(__x86_64__)
    #include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "apps/common/affinity.hpp"

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

Chase::Chase(std::size_t bytes) : next_(std::max<std::size_t>(2, bytes / kSpacing) * kStride) {
    std::vector<std::uint64_t> order(places());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (std::size_t i = 0; i < order.size(); ++i) {
        next_[order[i] * kStride] = order[(i + 1) % order.size()] * kStride;
    }
}

std::uint64_t Chase::walk(std::int64_t steps) const {
    std::uint64_t place = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
        place = next_[place];
        asm volatile("" : "+r"(place));
    }
    return place;
}

void go_to(int cpu) {
    if (const std::string problem = pin_this_thread(cpu); !problem.empty()) {
        throw std::runtime_error("CPU " + std::to_string(cpu) + ": " + problem);
    }
}

std::int64_t move_to_and_fro(int first, int second, std::int64_t times) {
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < times; ++i) {
        const int before = current_cpu();
        go_to(before == first ? second : first);
        moved += current_cpu() == before ? 0 : 1;
    }
    return moved;
}

bool is_emulated() {
#if defined(__x86_64__)
    // Linux Documentation/virt/kvm/x86/cpuid.rst: a hypervisor sets bit 31, and signs its first
    // leaf.
    constexpr unsigned kHypervisor = 1U << 31;
    constexpr unsigned kSignatureLeaf = 0x40000000;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisor) == 0) {
        return false;
    }
    std::array<unsigned, 3> words{};
    __cpuid(kSignatureLeaf, a, words[0], words[1], words[2]);
    std::array<char, sizeof words> text{};
    std::memcpy(text.data(), words.data(), sizeof words);
    return std::string_view(text.data(), text.size()) == "TCGTCGTCGTCG";
#else
    return false;
#endif
}

}  // namespace pinstudy::yardstick
