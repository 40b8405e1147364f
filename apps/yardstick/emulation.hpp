// Whether this processor is emulated, instruction by instruction.
#pragma once

namespace pinstudy::yardstick {

// True where QEMU's TCG says so: then no instruction takes a known number of cycles. Only x86
// tells.
bool is_emulated();

}  // namespace pinstudy::yardstick
