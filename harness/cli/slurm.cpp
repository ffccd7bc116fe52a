#include "harness/cli/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/shell.hpp"
#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using core::shell_quoted;

/// Numbers of the first and the last chunk of a kind: they stand behind one another.
std::pair<std::size_t, std::size_t> range_of(const run::WorkPlan& plan, std::size_t kind) {
  const auto of_kind = [kind](const run::Chunk& chunk) { return chunk.kind == kind; };
  const auto first = std::ranges::find_if(plan.chunks, of_kind);
  const auto end = std::find_if_not(first, plan.chunks.end(), of_kind);
  return {static_cast<std::size_t>(first - plan.chunks.begin()) + 1,
          static_cast<std::size_t>(end - plan.chunks.begin())};
}

/// Lanes of a chunk: a task has a core for each.
int lanes_of(const run::WorkPlan& plan, const run::WorkPlan::Kind& kind) {
  const int jobs = std::max(plan.jobs, 1);
  return kind.workers > 0 ? std::min(jobs, kind.workers) : jobs;
}

/// The lines of a script that set `assay`: the program itself, or the packed one, which the first task of a node
/// unpacks while the others wait.
std::string program_lines(const SlurmOptions& options) {
  if (options.pack.empty()) {
    return fmt::format("assay=${{ASSAY:-{}}}\n", shell_quoted(options.program.string()));
  }
  return fmt::format(
      R"sh(# The pack is unpacked once per node; who comes meanwhile waits.
pack={}
node=${{ASSAY_NODE_FOLDER:-${{TMPDIR:-/tmp}}}}/assay-$(id -u)-$(sha256sum <"$pack/part-01/manifest" | cut -c 1-12)
mkdir -p -m 700 "$node" && [ -O "$node" ] || {{
  echo "$node on $(hostname) can't be made or is somebody else's; ASSAY_NODE_FOLDER names another place" >&2
  exit 3
}}
(
  flock 9 || exit 3
  [ -d "$node/pack" ] || sh "$pack/part-01/run.sh" "$node" --no-run
) 9>"$node/lock" || {{
  echo "the pack $pack can't be unpacked in $node on $(hostname)" >&2
  exit 3
}}
assay=$node/pack/assay
)sh",
      shell_quoted(options.pack.string()));
}

std::string array_script(const run::WorkPlan& plan, std::size_t index, const fs::path& folder,
                         const SlurmOptions& options) {
  const run::WorkPlan::Kind& kind = plan.kinds[index];
  const auto [first, last] = range_of(plan, index);
  const int lanes = lanes_of(plan, kind);
  std::vector<std::string> licences;
  for (const std::string& licence : kind.licences) licences.push_back(fmt::format("{}:{}", licence, lanes));
  std::vector<std::string> names;
  for (const std::size_t program : kind.programs) {
    names.push_back(plan.programs[program].name + " " + plan.programs[program].version);
  }
  std::string text =
      fmt::format("#!/bin/sh\n# Chunks {} to {}: {}. Written by assay plan.\n", first, last, core::join(names, ", "));
  text += fmt::format("#SBATCH --job-name=assay\n#SBATCH --array={}-{}{}\n", first, last,
                      kind.workers > 0 ? fmt::format("%{}", std::max(kind.workers / lanes, 1)) : "");
  text += "#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  text +=
      fmt::format("#SBATCH --output={}\n#SBATCH --cpus-per-task={}\n", (folder / "logs" / "%a.log").string(), lanes);
  if (kind.gpu) text += "#SBATCH --gres=gpu:1\n";
  if (!licences.empty()) text += "#SBATCH --licenses=" + core::join(licences, ",") + "\n";
  text += program_lines(options);
  text += fmt::format(
      R"sh("$assay" work {} "$SLURM_ARRAY_TASK_ID" --jobs "${{SLURM_CPUS_PER_TASK:-{}}}"
code=$?
# 3 is Assay's or this node's fault (no room, a file that can't be read): twice more, perhaps on another node.
if [ "$code" -eq 3 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt 2 ]; then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
)sh",
      shell_quoted(folder.string()), lanes);
  return text;
}

std::string merge_script(const fs::path& folder, const SlurmOptions& options) {
  return fmt::format(
      "#!/bin/sh\n# Puts what there is into the database and says what is missing. Written by assay plan.\n"
      "#SBATCH --job-name=assay-merge\n#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output={}\n"
      "{}exec \"$assay\" merge {} --db {}\n",
      (folder / "logs" / "merge.log").string(), program_lines(options), shell_quoted(folder.string()),
      shell_quoted(options.database.string()));
}

std::string array_name(std::size_t kind) { return fmt::format("array-{}.sh", kind + 1); }

std::string submit_script(const std::vector<std::size_t>& kinds, const fs::path& folder) {
  std::string text = fmt::format(
      "#!/bin/sh\n# Submits the chunks, and the merge after their end. Its words go to every sbatch, such as\n"
      "# --partition=NAME. Written by assay plan.\nset -eu\nfolder={}\nafter=afterany\n",
      shell_quoted((folder / "slurm").string()));
  for (const std::size_t kind : kinds) {
    text +=
        fmt::format("after=$after:$(sbatch --parsable \"$@\" \"$folder/{}\" | cut -d ';' -f 1)\n", array_name(kind));
  }
  text +=
      "merge=$(sbatch --parsable --dependency=\"$after\" \"$@\" \"$folder/merge.sh\")\n"
      "echo \"submitted: chunks ${after#afterany:}, then merge $merge\"\n";
  return text;
}

}  // namespace

core::Status check_pack(const fs::path& pack) {
  std::error_code code;
  if (fs::is_regular_file(pack / "part-01" / "run.sh", code)) return core::success();
  return core::usage_error(
      fmt::format("--pack \"{}\" is no pack: there is no part-01/run.sh in it; ./assay pack makes one", pack.string()));
}

core::Status write_slurm_scripts(const run::WorkPlan& plan, const run::PlanFolder& folder,
                                 const SlurmOptions& options) {
  std::error_code code;
  if (!options.pack.empty()) {
    if (core::Status there = check_pack(options.pack); !there) return there;
  }
  const fs::path path = fs::absolute(folder.path(), code).lexically_normal();
  for (const char* part : {"slurm", "logs"}) {
    if (core::Status made = core::make_folder(path / part); !made) return made;
  }
  std::vector<std::size_t> kinds;  // that have work
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t kind = 0; kind < plan.kinds.size(); ++kind) {
    if (std::ranges::find(plan.chunks, kind, &run::Chunk::kind) == plan.chunks.end()) continue;
    kinds.push_back(kind);
    files.emplace_back(array_name(kind), array_script(plan, kind, path, options));
  }
  files.emplace_back("merge.sh", merge_script(path, options));
  files.emplace_back("submit.sh", submit_script(kinds, path));
  for (const auto& [name, text] : files) {
    if (core::Status written = core::write_file(path / "slurm" / name, text); !written) return written;
  }
  return core::success();
}

}  // namespace assay::cli
