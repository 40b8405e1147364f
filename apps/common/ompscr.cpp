#include "apps/common/ompscr.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace pinstudy {

std::optional<int> parse_size(Options& options, const SizeArgument& argument, std::int64_t& size,
                              int argc, char** argv) {
    bool test = false;
    size = 0;
    options.integer(argument.name, size, 1, argument.highest, argument.help);
    options.flag("--test", test, "Run with " + std::to_string(argument.test_value));
    std::vector<std::string> arguments(argv + 1, argv + argc);
    std::replace(arguments.begin(), arguments.end(), std::string("-test"), std::string("--test"));
    const auto why_not = [&]() -> std::string {
        if ((size != 0) != test) {
            return "";
        }
        return argument.name + ": expected a whole number from 1 to " +
               std::to_string(argument.highest) + ", or -test" + (test ? ", not both" : "");
    };
    const auto exit_status = options.parse(arguments, why_not);
    if (test) {
        size = argument.test_value;
    }
    return exit_status;
}

void print_header(const std::string& program, const std::string& description,
                  const SizeArgument& argument, std::int64_t size, int threads) {
    std::printf("\nThis program is part of the OpenMP Source Code Repository (OmpSCR)\n\n");
    std::printf("Program:       %s\nDescription:   %s\n\n", program.c_str(), description.c_str());
    std::printf("Argument %s %lld\n", argument.name.c_str(), static_cast<long long>(size));
    std::printf("Argument NUMTHREADS %d\n\nRunning ...\n\n", threads);
}

void print_timer(const std::string& name, double seconds) {
    std::printf("Timer %s %12.6f\n", name.c_str(), seconds);
}

}  // namespace pinstudy
