// The command line of a program, read by CLI11.
#include "apps/common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <iostream>
#include <stdexcept>

#include "apps/common/exit_status.hpp"

namespace pinstudy {
namespace {

std::string without_blanks(const std::string& text) {
    constexpr const char* kBlanks = " \t\n\r";
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// CLI11's own conversion would read 010 as eight and 0x10 as sixteen.
std::optional<std::int64_t> decimal(const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return number;
}

bool is_positional(const std::string& names) {
    return names.front() != '-';
}

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return without_blanks(text);
}

}  // namespace

struct Options::Parser {
    using Store = std::function<void(const std::string&)>;  // throws CLI::ValidationError

    void number(const std::string& names, std::int64_t& value, const std::string& help,
                const std::string& expected, std::function<bool(std::int64_t)> allowed);
    CLI::Option* option(const std::string& names, const Store& store, const std::string& type,
                        const std::string& help);
    std::vector<std::string> prepared(const std::vector<std::string>& arguments) const;

    CLI::App cli;
    std::vector<std::string> one_dash_names;  // "-test"
    std::vector<std::string> names_with_value;
    Store store_positional;
};

void Options::Parser::number(const std::string& names, std::int64_t& value, const std::string& help,
                             const std::string& expected,
                             std::function<bool(std::int64_t)> allowed) {
    const Store store = [&value, names, expected,
                         allowed = std::move(allowed)](const std::string& given) {
        const std::string text = without_blanks(given);
        const auto number = decimal(text);
        if (!number || !allowed(*number)) {
            throw CLI::ValidationError(names, "expected " + expected + ", got '" + text + "'");
        }
        value = *number;
    };
    CLI::Option* const made = option(names, store, "N", help + ": " + expected);
    if (is_positional(names)) {
        store_positional = store;
        return;
    }
    made->default_str(std::to_string(value));
    for (const std::string& name : CLI::detail::split(names, ',')) {
        names_with_value.push_back(name);
    }
}

CLI::Option* Options::Parser::option(const std::string& names, const Store& store,
                                     const std::string& type, const std::string& help) {
    CLI::Option* const made = cli.add_option(
        names,
        [store](const CLI::results_t& texts) {
            store(texts.front());
            return true;
        },
        help);
    return made->type_name(type)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

// The arguments in CLI11's order (last first), with what CLI11 would misread taken care of: it
// takes -test for four one-letter options and a negative positional number for an option.
std::vector<std::string> Options::Parser::prepared(
    const std::vector<std::string>& arguments) const {
    const auto contains = [](const std::vector<std::string>& list, const std::string& text) {
        return std::find(list.begin(), list.end(), text) != list.end();
    };
    std::vector<std::string> result;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool is_value = i > 0 && contains(names_with_value, arguments[i - 1]);
        if (!is_value && store_positional && argument.size() > 1 && argument[0] == '-' &&
            decimal(argument)) {
            store_positional(argument);
        }
        result.push_back(contains(one_dash_names, argument) ? '-' + argument : argument);
    }
    std::reverse(result.begin(), result.end());
    return result;
}

Options::Options(const std::string& app, const std::string& description, const std::string& version)
    : parser_(std::make_unique<Parser>()) {
    parser_->cli.name(app);
    parser_->cli.description(description);
    parser_->cli.set_version_flag("--version", version, "Print how the program was built");
}

Options::~Options() = default;

void Options::integer(const std::string& names, std::int64_t& value, std::int64_t lowest,
                      std::int64_t highest, const std::string& help) {
    const std::string expected =
        "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
    parser_->number(names, value, help, expected, [lowest, highest](std::int64_t number) {
        return lowest <= number && number <= highest;
    });
}

void Options::one_of(const std::string& names, std::int64_t& value,
                     const std::vector<std::int64_t>& allowed, const std::string& help) {
    std::string expected;
    for (const std::int64_t number : allowed) {
        expected += (expected.empty() ? "" : " or ") + std::to_string(number);
    }
    parser_->number(names, value, help, expected, [allowed](std::int64_t number) {
        return std::find(allowed.begin(), allowed.end(), number) != allowed.end();
    });
}

void Options::word(const std::string& names, std::string& value,
                   const std::vector<std::string>& allowed, const std::string& help) {
    std::string expected;
    for (const std::string& word : allowed) {
        expected += (expected.empty() ? "" : " or ") + word;
    }
    const auto store = [&value, names, allowed, expected](const std::string& given) {
        if (std::find(allowed.begin(), allowed.end(), given) == allowed.end()) {
            throw CLI::ValidationError(names, "expected " + expected + ", got '" + given + "'");
        }
        value = given;
    };
    parser_->option(names, store, "WORD", help + ": " + expected)->default_str(value);
}

void Options::text(const std::string& names, const std::string& type,
                   std::function<void(const std::string&)> store, const std::string& help) {
    const auto checked = [names, store = std::move(store)](const std::string& given) {
        try {
            store(given);
        } catch (const std::invalid_argument& error) {
            throw CLI::ValidationError(names, error.what());
        }
    };
    parser_->option(names, checked, type, help);
}

void Options::flag(const std::string& names, bool& value, const std::string& help) {
    std::string accepted;
    for (const std::string& name : CLI::detail::split(names, ',')) {
        const bool one_dash = name.size() > 2 && name[0] == '-' && name[1] != '-';
        if (one_dash) {
            parser_->one_dash_names.push_back(name);
        }
        accepted += (accepted.empty() ? "" : ",") + (one_dash ? '-' + name : name);
    }
    parser_->cli.add_flag(accepted, value, help);
}

std::optional<int> Options::parse(const std::vector<std::string>& arguments) {
    try {
        parser_->cli.parse(parser_->prepared(arguments));
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            parser_->cli.exit(error);
            return kExitOk;
        }
        return user_error(one_line(error.what()) + " (see --help)");
    }
}

std::optional<int> Options::parse(int argc, char** argv) {
    return parse(argc > 1 ? std::vector<std::string>(argv + 1, argv + argc)
                          : std::vector<std::string>{});
}

int Options::user_error(const std::string& message) const {
    std::cerr << parser_->cli.get_name() << ": " << message << '\n';
    return kExitUserError;
}

}  // namespace pinstudy
