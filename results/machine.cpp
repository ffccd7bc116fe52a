#include "results/machine.hpp"

#include <sys/utsname.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

namespace assay::results {
namespace {

/// Instructions that change which integer or float kernels a converter's executor picks.
constexpr std::array<std::string_view, 14> kFeatures{"sse4_1",  "avx",      "fma",         "avx2",     "avx_vnni",
                                                     "avx512f", "avx512bw", "avx512_vnni", "amx_int8", "amx_bf16",
                                                     "asimd",   "asimddp",  "i8mm",        "sve"};

/// The value of the first line "key : value".
std::string cpu_field(const std::string& cpuinfo, std::string_view key) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

}  // namespace

Machine this_machine() {
  std::ostringstream cpuinfo;
  cpuinfo << std::ifstream("/proc/cpuinfo").rdbuf();
  Machine machine;
  machine.cpu = cpu_field(cpuinfo.str(), "model name");
  std::istringstream flags(cpu_field(cpuinfo.str(), "flags") + " " + cpu_field(cpuinfo.str(), "Features"));
  std::set<std::string, std::less<>> present;
  for (std::string flag; flags >> flag;) present.insert(flag);
  for (const auto feature : kFeatures) {
    if (present.contains(feature)) machine.features.append(machine.features.empty() ? "" : ",").append(feature);
  }
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  utsname name{};
  if (::uname(&name) == 0) {
    machine.system = std::string(name.sysname) + " " + name.release + " " + name.machine;
  }
  return machine;
}

}  // namespace assay::results
