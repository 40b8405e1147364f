// Work whose amount is known: a loop of instructions, a walk through memory, changes of CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pinstudy::yardstick {

// Additions in one turn of the loop, each of which waits for the one before it.
constexpr std::int64_t kAdditions = 100;
// Instructions in one turn: the additions, one that counts the turns down, and a branch.
constexpr std::int64_t kInstructions = kAdditions + 2;

// Whether the loop is written in this processor's instructions; else its length is not known.
bool loop_is_exact();

// Runs the loop so many times. The additions alone decide how many cycles it takes, and each takes
// the latency of an addition: one cycle on every processor that Linux runs on today.
void run_loop(std::int64_t turns);

// A walk through memory in an order that no processor guesses.
class Chase {
  public:
    // Bytes between two places: processors also fetch the line beside the one that was missed.
    static constexpr std::size_t kSpacing = 256;

    // Places in so many bytes, at least two, in one random circle.
    explicit Chase(std::size_t bytes);

    std::size_t places() const { return next_.size() / kStride; }

    // Goes so many steps, each of which waits for the one before it; returns where it is then.
    std::uint64_t walk(std::int64_t steps) const;

  private:
    static constexpr std::size_t kStride = kSpacing / sizeof(std::uint64_t);

    std::vector<std::uint64_t> next_;
};

// Pins the calling thread to a CPU. Throws std::runtime_error when the kernel does otherwise.
void go_to(int cpu);

// Goes to and fro between two CPUs; returns how often the kernel moved the thread.
std::int64_t move_to_and_fro(int first, int second, std::int64_t times);

// True where QEMU's TCG says so: then no instruction takes a known number of cycles. Only x86
// tells.
bool is_emulated();

}  // namespace pinstudy::yardstick
