#include "apps/threadmap/json.hpp"

namespace pinstudy::threadmap {
namespace {

std::string joined(const std::vector<std::string>& values, char open, char close) {
    std::string text(1, open);
    for (const std::string& value : values) {
        text.append(text.size() == 1 ? "" : ", ").append(value);
    }
    return text + close;
}

}  // namespace

std::string json_text(const std::string& text) {
    std::string quoted(1, '"');
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
        }
        quoted += c < ' ' || c > '~' ? '?' : c;
    }
    return quoted + '"';
}

std::string json_list(const std::vector<std::string>& values) {
    return joined(values, '[', ']');
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : members) {
        texts.push_back(json_text(name) + ": " + value);
    }
    return joined(texts, '{', '}');
}

std::string json_numbers(const Cpus& numbers) {
    std::vector<std::string> texts;
    for (const int number : numbers) {
        texts.push_back(std::to_string(number));
    }
    return json_list(texts);
}

std::string json_bool(bool value) {
    return value ? "true" : "false";
}

}  // namespace pinstudy::threadmap
