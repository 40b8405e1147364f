// The command line of a program, with the behaviour that all programs share.
//
// A mistake is one line on standard error that names the option and what was expected, and exit
// status 2. -h, --help and --version print to standard output and exit with 0. CLI11 does the work;
// it stays out of this header because it takes longer to compile than the programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pinstudy {

class Options {
  public:
    // `app` is the program's name without its build.
    Options(const std::string& app, const std::string& description);
    ~Options();

    // In the following, `names` is "-s,--size" for an option and "size" for a positional argument,
    // and `value` keeps its content without the option; --help shows it as the option's default.

    // Takes a decimal whole number from `lowest` to `highest`; blanks around it are ignored.
    void integer(const std::string& names, std::int64_t& value, std::int64_t lowest,
                 std::int64_t highest, const std::string& help);

    // Takes a decimal number from `lowest` to `highest`, which --help names `type`.
    void real(const std::string& names, const std::string& type, double& value, double lowest,
              double highest, const std::string& help);

    // Takes one of the words in `allowed`.
    void word(const std::string& names, std::string& value, const std::vector<std::string>& allowed,
              const std::string& help);

    // Takes a text, which --help names `type`. `store` parses and stores it; it throws
    // std::invalid_argument, whose text names the mistake, for an invalid one.
    void text(const std::string& names, const std::string& type,
              const std::function<void(const std::string&)>& store, const std::string& help,
              const std::string& shown_default = "");

    // Takes no value; sets `value`.
    void flag(const std::string& names, bool& value, const std::string& help);

    // Returns why the options do not go together; empty when they do.
    using WhyNot = std::function<std::string()>;

    // Parses the arguments that follow the program's name, then calls `why_not`. Returns the exit
    // status with which the program must end at once, after all messages; nothing if it shall
    // continue.
    std::optional<int> parse(std::vector<std::string> arguments, const WhyNot& why_not = {});
    std::optional<int> parse(int argc, char** argv, const WhyNot& why_not = {}) {
        return parse({argv + 1, argv + argc}, why_not);
    }

    // Prints the mistake in the command line to standard error; returns the exit status for it.
    int user_error(const std::string& message) const;

  private:
    std::unique_ptr<CLI::App> cli_;
};

}  // namespace pinstudy
