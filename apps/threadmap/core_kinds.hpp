// Which core kind each CPU is of, and by what evidence.
#pragma once

#include <map>
#include <set>
#include <string>

#include "apps/common/affinity.hpp"
#include "apps/threadmap/kernel_files.hpp"

namespace pinstudy::threadmap {

// The kind (P, E or LP-E) of each CPU that has one, and the evidence in words.
struct CoreKinds {
    std::map<int, std::string> of;
    std::string evidence;
};

// Place of a kind among kinds, best first: P, E, LP-E, any other.
int kind_rank(const std::string& kind);

// The kinds that the kernel's core PMUs tell: Intel's hybrid CPUs have a PMU for each core type,
// with the list of its CPUs. Those of cpu_atom in `without_l3` are LP-E. Nothing else is evidence
// here: not the CPU's number, not its frequency.
CoreKinds kinds_of_pmus(const KernelFiles& files, const Cpus& online,
                        const std::set<int>& without_l3);

// The kinds of a text such as "P=0-7,E=8-15,20". Throws std::invalid_argument, whose text says what
// is wrong with it: another form, another kind, a CPU in two kinds or not online.
CoreKinds declared_kinds(const std::string& text, const Cpus& online);

}  // namespace pinstudy::threadmap
