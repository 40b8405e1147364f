// kernel: a given amount of work, timed by its own clock from the first to the last line of
// main.
//
// Usage: kernel STEPS [--log FILE] [--factor FILE] [--meet SAYS HEARS]
//
// STEPS are steps of a random number generator, each of which needs the one before it: their time
// depends on the processor's frequency alone, not on memory. --factor multiplies them by the number
// in a file. --log appends a line `BEGIN_NS END_NS` (CLOCK_MONOTONIC). --meet stops before and
// after the work: it writes its process number to the FIFO SAYS and waits for a byte from HEARS.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

namespace {

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
}

/// Marsaglia's xorshift64 ("Xorshift RNGs", 2003); never 0.
std::uint64_t work(std::uint64_t steps) {
    std::uint64_t state = 88172645463325252ULL;
    for (std::uint64_t step = 0; step < steps; ++step) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
    }
    return state;
}

std::uint64_t multiplied(std::uint64_t steps, const char* file) {
    double factor = 0;
    if (!(std::ifstream(file) >> factor))
        give_up(file);
    return static_cast<std::uint64_t>(static_cast<double>(steps) * factor);
}

void say(const char* file, const std::string& line, int flags) {
    const int descriptor = open(file, O_WRONLY | flags, 0600);
    if (descriptor < 0 ||
        write(descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        give_up(file);
    close(descriptor);
}

void meet(const char* says, const char* hears) {
    say(says, std::to_string(getpid()) + "\n", 0);
    const int descriptor = open(hears, O_RDONLY);
    char byte = 0;
    if (descriptor < 0 || read(descriptor, &byte, 1) != 1)
        give_up(hears);
    close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
    const std::int64_t begin_ns = monotonic_ns();
    if (argc < 2)
        return 2;
    std::uint64_t steps = std::strtoull(argv[1], nullptr, 10);
    const char* log = nullptr;
    const char* says = nullptr;
    const char* hears = nullptr;
    for (int at = 2; at < argc; at += 2) {
        if (at + 1 == argc)
            return 2;
        const std::string_view option = argv[at];
        if (option == "--log") {
            log = argv[at + 1];
        } else if (option == "--factor") {
            steps = multiplied(steps, argv[at + 1]);
        } else if (option == "--meet" && at + 2 < argc) {
            says = argv[at + 1];
            hears = argv[++at + 1];
        } else {
            return 2;
        }
    }
    if (says != nullptr)
        meet(says, hears);
    // The exit status depends on the work, so that no compiler leaves it out; it is always 0.
    const int status = work(steps) == 0 ? 1 : 0;
    if (says != nullptr)
        meet(says, hears);
    if (log != nullptr) {
        const std::string begin = std::to_string(begin_ns);
        say(log, begin + " " + std::to_string(monotonic_ns()) + "\n", O_APPEND | O_CREAT);
    }
    return status;
}
