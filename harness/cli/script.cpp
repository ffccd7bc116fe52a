#include "harness/cli/script.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>

#include "harness/cli/common.hpp"

extern char** environ;

namespace assay::cli {

int run_script(const std::vector<std::string>& words) {
  std::fflush(nullptr);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // posix_spawn takes char* const[] and writes nothing
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments.front(), nullptr, nullptr, arguments.data(), environ);
  if (failure != 0) {
    fmt::print(stderr, "assay: {} can't be started: {}\n", words.front(), std::strerror(failure));
    return kExitOwnFault;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitOwnFault;
}

}  // namespace assay::cli
