// What the programs tell their caller by their exit status.
#pragma once

namespace pinstudy {

enum ExitStatus : int {
    kExitOk = 0,          // the program ran and its result passed its check
    kExitFailed = 1,      // something broke that the user could not have known
    kExitUserError = 2,   // the command line or the environment asks for what cannot be done
    kExitCheckFailed = 3  // the program ran, but its result is wrong
};

}  // namespace pinstudy
