// CPU numbers: lists of them as text, and the calling thread's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pinstudy {

// CPU numbers as Linux counts them, in the order in which threads take them; duplicates allowed.
using Cpus = std::vector<int>;

// The CPUs of a list such as "0,2,4-6", in its order. Throws std::invalid_argument, whose text
// names the mistake, for anything else, an empty list and numbers from 65536 on included.
Cpus parse_cpus(std::string_view text);

// The list in its order, runs of following numbers as ranges: {0, 1, 2, 5} is "0-2,5".
std::string format_cpus(const Cpus& cpus);

// The CPUs that the kernel allows the calling thread, ascending. Throws std::system_error.
Cpus allowed_cpus();

// Pins the calling thread to this CPU and reads its mask back. Returns why that failed, or an empty
// text.
std::string pin_this_thread(int cpu);

// Lets a thread of this process run on these CPUs; the thread is named by its number in
// the kernel (gettid()), or 0 for the calling one. Throws std::system_error.
void allow_thread(int thread, const Cpus& cpus);

// The CPU that the calling thread is on at this moment; -1 if the kernel does not report it.
int current_cpu();

}  // namespace pinstudy
