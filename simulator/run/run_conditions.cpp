#include "simulator/run/run_conditions.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "simulator/communicator/packing.h"
#include "simulator/run/process_binding.h"
#include "simulator/run/process_memory.h"
#include "storage/content/block_generator.h"

namespace ckptsim::simulator {
namespace {

std::string kernel_release() {
  utsname name{};
  uname(&name);
  return fmt::format("{} {}", name.sysname, name.release);
}

}  // namespace

Environment describe_environment(Communicator& communicator, const RankLayout& layout) {
  Environment environment;
  for (const RankPlace& place : layout.ranks) {
    const auto found = std::find(environment.hosts.begin(), environment.hosts.end(), place.host);
    if (found == environment.hosts.end()) {
      environment.hosts.push_back(place.host);
      environment.ranks_on_host.push_back(1);
    } else {
      ++environment.ranks_on_host[static_cast<std::size_t>(found - environment.hosts.begin())];
    }
  }
  environment.kernel = kernel_release();
  environment.communicator = communicator.description();
  environment.processes = communicator.processes();
  environment.bindings = gather_bindings(communicator);
  return environment;
}

std::string instruction_sets(Communicator& communicator) {
  const std::vector<std::string> all =
      communicator.all_gather(storage::fastest_block_generator().instruction_set);
  return fmt::format("{}", fmt::join(std::set<std::string>(all.begin(), all.end()), ", "));
}

void gather_facts(Communicator& communicator, const std::vector<std::unique_ptr<RankWorker>>& workers,
                  EffectiveSettings& effective) {
  std::vector<std::string> reasons;
  for (const auto& worker : workers) {
    const storage::TargetFacts facts = worker->facts();
    effective.backend = facts.backend;
    reasons.push_back(facts.registered_buffers ? "" : "not registered: " + facts.registered_reason);
  }
  effective.registered_buffers = true;
  for (const std::string& part : communicator.all_gather(pack(reasons))) {
    for (const std::string& reason : unpack(part)) {
      if (reason.empty() || !effective.registered_buffers) continue;
      effective.registered_buffers = false;
      effective.registered_reason = reason.substr(reason.find(": ") + 2);
    }
  }
}

void gather_memory(Communicator& communicator, const std::vector<std::unique_ptr<RankWorker>>& workers,
                   EffectiveSettings& effective) {
  std::uint64_t buffer_bytes = 0;
  MemoryAreas areas;
  for (const auto& worker : workers) {
    buffer_bytes += worker->buffer_memory().size();
    areas.push_back(worker->buffer_memory());
  }
  // The last page of a pool may reach past its last buffer.
  const std::uint64_t on_huge_pages = std::min(buffer_bytes, huge_page_bytes(areas));
  double all_buffers = 0;
  double all_on_huge_pages = 0;
  for (const std::string& part :
       communicator.all_gather(pack({std::to_string(buffer_bytes), std::to_string(on_huge_pages)}))) {
    const std::vector<std::string> field = unpack(part);
    all_buffers += std::stod(field[0]);
    all_on_huge_pages += std::stod(field[1]);
  }
  effective.buffer_bytes_per_rank = workers.front()->buffer_memory().size();
  effective.huge_page_share = all_on_huge_pages / all_buffers;
}

}  // namespace ckptsim::simulator
