// What a thread does with its array.
#pragma once

#include <span>
#include <string>

namespace pinstudy::smt {

// accumulate: the sum of the items. Each addition waits for the one before; the units of the core
// are idle most of the time.
// sin: the sum of the items' sines. There is much to compute between two additions.
enum class Work { accumulate, sin };

std::string name_of(Work work);

// The sums are floats, added to in the order of the items.
float accumulate(std::span<const float> items);
float sum_of_sines(std::span<const float> items);

float do_work(Work work, std::span<const float> items);

}  // namespace pinstudy::smt
