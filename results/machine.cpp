#include "results/machine.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/core/process.hpp"

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

/// The NVIDIA GPUs that the driver shows to this process. nvidia-smi is asked only where there is a device: it lives
/// with the driver, and /proc/driver isn't there in every container.
std::string accelerators() {
  std::error_code code;
  if (!std::filesystem::exists("/dev/nvidiactl", code)) return {};
  constexpr const char* kNobodySays = "an NVIDIA device that nvidia-smi doesn't name";
  core::SpawnOptions options;
  options.arguments = {"nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"};
  core::Result<core::Process> asked = core::Process::spawn(options);
  if (!asked) return kNobodySays;
  constexpr std::chrono::seconds kPatience{30};
  const auto deadline = core::Process::Clock::now() + kPatience;
  std::string csv;
  for (auto line = asked->read_line(deadline); line.end == core::Process::ReadEnd::line;
       line = asked->read_line(deadline)) {
    csv += line.text + "\n";
  }
  const auto end = asked->wait(deadline);
  const std::string text = end && end->code == 0 ? accelerators_text(csv) : "";
  return text.empty() ? kNobodySays : text;
}

}  // namespace

std::string accelerators_text(std::string_view csv) {
  std::vector<std::pair<std::string, int>> kinds;
  std::istringstream lines{std::string(csv)};
  for (std::string line; std::getline(lines, line);) {
    const auto comma = line.rfind(", ");
    if (comma == std::string::npos) continue;
    const std::string kind = line.substr(0, comma) + ", driver " + line.substr(comma + 2);
    const auto known = std::ranges::find(kinds, kind, &std::pair<std::string, int>::first);
    known == kinds.end() ? static_cast<void>(kinds.emplace_back(kind, 1)) : static_cast<void>(++known->second);
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += (text.empty() ? "" : "; ") + (count > 1 ? std::to_string(count) + " x " : "") + kind;
  }
  return text;
}

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
  machine.accelerators = accelerators();
  return machine;
}

}  // namespace assay::results
