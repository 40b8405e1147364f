// pinstudy-witness: starts one program on command, and reports when and how it ended.
//
// It stands between the launcher (taskset, likwid-pin, ...) and the program, so that counters can
// be attached to the program alone: neither the launcher's start-up nor this process is inside the
// counted or the timed window. Because it is the program's parent, it sees the real exit status and
// signal (perf before 7.0 reports 0 for a program that a signal killed) and it keeps the dead
// program as a zombie until its last CPU mask has been read. It sets no CPU mask itself, and the
// program inherits its stdin.
//
// Usage: pinstudy-witness COMMAND_FD REPORT_FD STDOUT_FD STDERR_FD
//        pinstudy-witness --rank SOCKET
//        pinstudy-witness --launcher STUDY_PID LAUNCHER...
//
// With --rank it is one rank of an MPI job, which a launcher started: launchers pass on no file
// descriptors, so it connects to a socket of the study, and first writes `rank N`. Output goes
// where the launcher takes it, and the program's exit status is this process's own, so that the
// launcher ends a job of which a rank has failed.
//
// With --launcher it becomes the launcher of such a job, which the kernel kills when the study is
// gone. Launchers end when their ranks have, but not always: mpirun of Open MPI 4.1.4 can wait for
// itself for ever when its ranks end while it starts them.
//
// Batch systems and pkill(1) signal every process. No signal that can be handled ends this process:
// those that ask for an end (INT, TERM, HUP, QUIT) end the program, and the report says so;
// warnings (USR1, USR2, ALRM, XCPU) are for the study, which decides.
//
// From COMMAND_FD it reads the program's arguments, each ended by a NUL byte, preceded by a line
// with their size in bytes; arguments do not come by argv because likwid-pin joins argv with
// blanks. Then single bytes: 'g' starts the program, 'r' reaps it. End of file at any time means
// that the study is gone: the program is killed. To REPORT_FD it writes one line each:
//   ready PID WITNESS_PID                   the program waits, before exec
//   failed ERRNO                            exec failed
//   ended START_NS END_NS                   CLOCK_MONOTONIC around the program, from exec to death
//   reaped STATUS UTIME_US STIME_US MAXRSS_KB ALL_US
// The times of `reaped` are those of the program and of the children that it waited for; ALL_US is
// the CPU time of the program and all its descendants, also of those that outlived it.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// A study that sends more than this is not one of ours; execve's own limit is near it.
constexpr std::size_t kMaxArgumentBytes = 2U << 20U;

// Written by the child between fork and exec, read by the parent: a shared page.
struct Start {
    std::int64_t monotonic_ns;
    int exec_errno;
};

// What launchers call the number of a rank: Open MPI, PMIx, Hydra, Slurm. A job script of Slurm has
// the last one, too.
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                          "SLURM_PROCID"};
// As a shell reports a command that it cannot start.
constexpr int kCannotStart = 127;
// As a shell reports a program that a signal ended.
constexpr int kSignalStatus = 128;
// These ask for an end.
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
// These keep their effect: what this process itself does wrong, and what a terminal stops.
constexpr int kNotBlocked[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP,
                               SIGABRT, SIGSYS, SIGTSTP, SIGTTIN, SIGTTOU};

struct Descriptors {
    int command;
    int report;
    int out;
    int err;
};

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "pinstudy-witness: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

int descriptor(const char* text) {
    int value = -1;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || rest != end || fcntl(value, F_SETFD, FD_CLOEXEC) == -1) {
        std::fprintf(stderr, "pinstudy-witness: '%s' is not an open file descriptor\n", text);
        std::exit(2);
    }
    return value;
}

/// Reads one byte; false at end of file.
bool read_byte(int fd, char& byte) {
    for (;;) {
        const ssize_t got = read(fd, &byte, 1);
        if (got == 1)
            return true;
        if (got == 0 || errno != EINTR)
            return false;
    }
}

void write_all(int fd, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t put = write(fd, text.data() + done, text.size() - done);
        if (put < 0 && errno != EINTR)
            return;  // the reader is gone; end of file follows
        if (put > 0)
            done += static_cast<std::size_t>(put);
    }
}

/// The program's arguments, each still ended by NUL; empty when the study is gone.
std::string read_arguments(int fd) {
    std::size_t size = 0;
    char byte = 0;
    while (read_byte(fd, byte) && byte >= '0' && byte <= '9' && size <= kMaxArgumentBytes) {
        size = size * 10 + static_cast<std::size_t>(byte - '0');
    }
    if (byte != '\n' || size == 0 || size > kMaxArgumentBytes)
        return {};
    std::string arguments(size, '\0');
    for (char& character : arguments) {
        if (!read_byte(fd, character))
            return {};
    }
    return arguments.back() == '\0' ? arguments : std::string{};
}

std::vector<char*> argument_pointers(std::string& arguments) {
    std::vector<char*> pointers;
    for (std::size_t at = 0; at < arguments.size(); at += std::strlen(&arguments[at]) + 1) {
        pointers.push_back(&arguments[at]);
    }
    pointers.push_back(nullptr);
    return pointers;
}

[[noreturn]] void become_program(const Descriptors& fds, int gate, char* const* arguments,
                                 Start& start, pid_t witness) {
    // Its own process group, so that its children can be ended with it.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != witness)
        _exit(kCannotStart);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (dup2(fds.out, STDOUT_FILENO) < 0 || dup2(fds.err, STDERR_FILENO) < 0) {
        start.exec_errno = errno;
        _exit(kCannotStart);
    }
    char byte = 0;
    if (!read_byte(gate, byte))
        _exit(kCannotStart);
    start.monotonic_ns = monotonic_ns();
    execvp(arguments[0], arguments);
    start.exec_errno = errno;
    _exit(kCannotStart);
}

/// Kills the program and its process group, which it may have left.
void end_program(pid_t program) {
    kill(-program, SIGKILL);
    kill(program, SIGKILL);
}

bool asks_for_end(std::uint32_t number) {
    return std::any_of(std::begin(kEnding), std::end(kEnding), [number](int ending) {
        return number == static_cast<std::uint32_t>(ending);
    });
}

/// Waits until the program has died, without reaping it; kills it when the study goes away, or when
/// a signal asks for an end, as a launcher does for a rank's.
void wait_for_death(pid_t program, int command, int signals) {
    bool orphaned = false;
    for (;;) {
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(program), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid == program) {
            return;
        }
        pollfd watched[2] = {{signals, POLLIN, 0}, {orphaned ? -1 : command, POLLIN, 0}};
        if (poll(watched, 2, -1) < 0)
            continue;
        if (watched[0].revents != 0) {
            signalfd_siginfo received{};
            if (read(signals, &received, sizeof received) < 0)
                continue;
            if (asks_for_end(received.ssi_signo))
                end_program(program);
        }
        char byte = 0;
        if (watched[1].revents != 0 && !read_byte(command, byte)) {
            orphaned = true;
            end_program(program);
        }
    }
}

/// Ends all processes that outlived the program; as a subreaper this process adopts its orphans,
/// also those that left its process group.
void end_descendants() {
    for (;;) {
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        if (errno == ECHILD)
            return;
        const std::string self = std::to_string(getpid());
        std::ifstream children("/proc/self/task/" + self + "/children");
        bool any = false;
        for (pid_t child = 0; children >> child; any = true)
            kill(child, SIGKILL);
        if (!any || waitpid(-1, nullptr, 0) < 0)
            return;
    }
}

/// Blocks all signals that would end this process and leave what it has started; returns a
/// descriptor that delivers them.
int block_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    // Whatever started this process may ignore it: the kernel then keeps no dead child, and drops
    // the CPU time of all. The program inherits this.
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int number : kNotBlocked)
        sigdelset(&blocked, number);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    return signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Runs one program as the study commands; returns its wait(2) status, or -1 when it was not
/// started.
int witness(const Descriptors& fds) {
    const int signals = block_signals();
    std::string arguments = read_arguments(fds.command);
    if (arguments.empty())
        return -1;
    const std::vector<char*> pointers = argument_pointers(arguments);

    void* page =
        mmap(nullptr, sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        give_up("mmap");
    Start& start = *static_cast<Start*>(page);

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int gate[2];
    if (signals < 0 || pipe2(gate, O_CLOEXEC) != 0)
        give_up("pipe");

    const pid_t self = getpid();
    const pid_t program = fork();
    if (program < 0)
        give_up("fork");
    if (program == 0) {
        close(gate[1]);
        std::signal(SIGPIPE, SIG_DFL);
        become_program(fds, gate[0], pointers.data(), start, self);
    }
    close(gate[0]);
    setpgid(program, program);  // here too: whichever is first, the group exists from now on
    write_all(fds.report, "ready " + std::to_string(program) + " " + std::to_string(self) + "\n");

    char byte = 0;
    if (read_byte(fds.command, byte) && byte == 'g')
        write_all(gate[1], "g");
    close(gate[1]);
    wait_for_death(program, fds.command, signals);
    const std::int64_t end_ns = monotonic_ns();

    if (start.exec_errno != 0)
        write_all(fds.report, "failed " + std::to_string(start.exec_errno) + "\n");
    write_all(fds.report,
              "ended " + std::to_string(start.monotonic_ns) + " " + std::to_string(end_ns) + "\n");
    read_byte(fds.command,
              byte);  // 'r', or the study is gone: the program is no longer needed
    kill(-program, SIGKILL);

    int status = 0;
    rusage usage{};
    if (wait4(program, &status, 0, &usage) != program)
        give_up("wait4");
    end_descendants();
    rusage all{};
    getrusage(RUSAGE_CHILDREN, &all);
    const auto microseconds = [](const timeval& time) {
        return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
    };
    std::string line = "reaped " + std::to_string(status);
    for (const std::int64_t number :
         {microseconds(usage.ru_utime), microseconds(usage.ru_stime), std::int64_t{usage.ru_maxrss},
          microseconds(all.ru_utime) + microseconds(all.ru_stime)}) {
        line += ' ';
        line += std::to_string(number);
    }
    write_all(fds.report, line + "\n");
    return status;
}

/// Connects to the study's socket, and says which rank this is.
int connect_as_rank(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        give_up(path);
    }
    std::memcpy(address.sun_path, path, length);
    if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        give_up(path);
    const char* rank = nullptr;
    for (const char* name : kRankVariables) {
        if (rank == nullptr)
            rank = std::getenv(name);
    }
    write_all(fd, std::string("rank ") + (rank != nullptr ? rank : "unknown") + "\n");
    return fd;
}

int witness_of_rank(const char* path) {
    const int study = connect_as_rank(path);
    const int status = witness({study, study, STDOUT_FILENO, STDERR_FILENO});
    if (status < 0)
        return 1;
    return WIFSIGNALED(status) ? kSignalStatus + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Becomes a launcher that dies with the study; returns only where it cannot.
int become_launcher(const char* study, char* const* launcher) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::to_string(getppid()) != study)
        return kCannotStart;
    execvp(launcher[0], launcher);
    std::fprintf(stderr, "cannot start %s: %s\n", launcher[0], std::strerror(errno));
    return kCannotStart;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 3 && std::strcmp(argv[1], "--launcher") == 0)
        return become_launcher(argv[2], argv + 3);
    if (argc == 3 && std::strcmp(argv[1], "--rank") == 0)
        return witness_of_rank(argv[2]);
    if (argc != 5) {
        std::fputs(
            "usage: pinstudy-witness COMMAND_FD REPORT_FD STDOUT_FD STDERR_FD\n"
            "       pinstudy-witness --rank SOCKET\n"
            "       pinstudy-witness --launcher STUDY_PID LAUNCHER...\n",
            stderr);
        return 2;
    }
    const Descriptors fds{descriptor(argv[1]), descriptor(argv[2]), descriptor(argv[3]),
                          descriptor(argv[4])};
    return witness(fds) < 0 ? 1 : 0;
}
