#include "tests/apps/common/run_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

namespace pinstudy::testing {
namespace {

// An unnamed file: unlike two pipes it needs nobody to read while the program writes.
class CaptureFile {
  public:
    CaptureFile() : file_(std::tmpfile()) {
        if (file_ == nullptr) {
            throw std::system_error(errno, std::generic_category(), "tmpfile");
        }
    }

    int descriptor() const { return fileno(file_.get()); }

    std::string content() const {
        std::rewind(file_.get());
        std::string text;
        std::array<char, 4096> buffer{};
        std::size_t count = 0;
        while ((count = std::fread(buffer.data(), 1, buffer.size(), file_.get())) > 0) {
            text.append(buffer.data(), count);
        }
        return text;
    }

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

class SpawnActions {
  public:
    SpawnActions(int out, int err) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    }
    ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;

    const posix_spawn_file_actions_t* get() const { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

std::vector<std::string> changed_environment(const std::map<std::string, std::string>& changes) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        if (!changes.contains(text.substr(0, text.find('=')))) {
            entries.push_back(text);
        }
    }
    for (const auto& [name, value] : changes) {
        entries.push_back(name + '=' + value);
    }
    return entries;
}

std::vector<char*> as_argv(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

int wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "waitpid");
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment) {
    const CaptureFile out;
    const CaptureFile err;
    const SpawnActions actions(out.descriptor(), err.descriptor());
    std::vector<std::string> arguments = command;
    std::vector<std::string> entries = changed_environment(environment);
    pid_t process = 0;
    const int problem = posix_spawn(&process, command.at(0).c_str(), actions.get(), nullptr,
                                    as_argv(arguments).data(), as_argv(entries).data());
    if (problem != 0) {
        throw std::system_error(problem, std::generic_category(), command.at(0));
    }
    ProgramResult result;
    result.exit_status = wait_for(process);
    result.output = out.content();
    result.error = err.content();
    return result;
}

}  // namespace pinstudy::testing
