// The command line of a program, read by CLI11.
#include "apps/common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <stdexcept>

#include "apps/common/program.hpp"

namespace pinstudy {
namespace {

// Stores a number of a range. CLI11's own conversion would read 010 as eight and 0x10 as sixteen.
template <typename Number>
auto number_in(Number& value, Number lowest, Number highest, const std::string& expected) {
    return [&value, lowest, highest, expected](const std::string& given) {
        const std::string digits = CLI::detail::trim_copy(given);
        const char* const end = digits.data() + digits.size();
        Number number = 0;
        const auto [stop, error] = std::from_chars(digits.data(), end, number);
        if (error != std::errc{} || stop != end || !(number >= lowest && number <= highest)) {
            throw std::invalid_argument("expected " + expected + ", got '" + digits + "'");
        }
        value = number;
    };
}

}  // namespace

Options::Options(const std::string& app, const std::string& description)
    : cli_(std::make_unique<CLI::App>(description, app)) {
    cli_->set_version_flag("--version", version_text(app), "Print how the program was built");
}

Options::~Options() = default;

void Options::integer(const std::string& names, std::int64_t& value, std::int64_t lowest,
                      std::int64_t highest, const std::string& help) {
    const std::string expected =
        "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
    const bool positional = names.front() != '-';
    text(names, "N", number_in(value, lowest, highest, expected), help + ": " + expected,
         positional ? "" : std::to_string(value));
}

void Options::real(const std::string& names, const std::string& type, double& value, double lowest,
                   double highest, const std::string& help) {
    const std::string expected = printed("a number from %g to %g", lowest, highest);
    text(names, type, number_in(value, lowest, highest, expected), help + ": " + expected,
         printed("%g", value));
}

void Options::word(const std::string& names, std::string& value,
                   const std::vector<std::string>& allowed, const std::string& help) {
    const std::string expected = CLI::detail::join(allowed, " or ");
    const auto store = [&value, allowed, expected](const std::string& given) {
        if (std::find(allowed.begin(), allowed.end(), given) == allowed.end()) {
            throw std::invalid_argument("expected " + expected + ", got '" + given + "'");
        }
        value = given;
    };
    text(names, "WORD", store, help + ": " + expected, value);
}

void Options::text(const std::string& names, const std::string& type,
                   const std::function<void(const std::string&)>& store, const std::string& help,
                   const std::string& shown_default) {
    const auto checked = [names, store](const CLI::results_t& texts) {
        try {
            store(texts.front());
        } catch (const std::invalid_argument& error) {
            throw CLI::ValidationError(names, error.what());
        }
        return true;
    };
    cli_->add_option(names, checked, help)
        ->type_name(type)
        ->default_str(shown_default)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

void Options::flag(const std::string& names, bool& value, const std::string& help) {
    cli_->add_flag(names, value, help);
}

std::optional<int> Options::parse(std::vector<std::string> arguments, const WhyNot& why_not) {
    // CLI11 takes them from the end.
    std::reverse(arguments.begin(), arguments.end());
    std::string mistake;
    try {
        cli_->parse(arguments);
        mistake = why_not ? why_not() : "";
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return cli_->exit(error);
        }
        mistake = error.what();
        std::replace(mistake.begin(), mistake.end(), '\n', ' ');
        CLI::detail::trim(mistake);
    }
    return mistake.empty() ? std::nullopt : std::optional(user_error(mistake + " (see --help)"));
}

int Options::user_error(const std::string& message) const {
    std::cerr << cli_->get_name() << ": " << message << '\n';
    return kExitUserError;
}

}  // namespace pinstudy
