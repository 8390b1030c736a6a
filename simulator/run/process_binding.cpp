#include "simulator/run/process_binding.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "simulator/communicator/packing.h"
#include "simulator/engine/failure.h"
#include "simulator/run/process_status.h"

namespace ckptsim::simulator {
ProcessBinding parse_binding(const std::string& status) {
  return {.processors = status_value(status, "Cpus_allowed_list").value_or("unknown"),
          .memory_nodes = status_value(status, "Mems_allowed_list").value_or("unknown")};
}

std::vector<ProcessBinding> gather_bindings(Communicator& communicator) {
  const ProcessBinding mine = parse_binding(process_status());
  std::vector<ProcessBinding> bindings;
  for (const std::string& part :
       communicator.all_gather(pack({host_name(), mine.processors, mine.memory_nodes}))) {
    const std::vector<std::string> field = unpack(part);
    bindings.push_back({.process = static_cast<int>(bindings.size()),
                        .host = field[0],
                        .processors = field[1],
                        .memory_nodes = field[2]});
  }
  return bindings;
}

std::string binding_words(const std::vector<ProcessBinding>& bindings) {
  std::map<std::string, std::set<std::string>> places;  // by host
  std::map<std::string, int> processes;
  for (const ProcessBinding& binding : bindings) {
    places[binding.host].insert(
        fmt::format("processors {} and memory node {}", binding.processors, binding.memory_nodes));
    ++processes[binding.host];
  }
  std::vector<std::string> sentences;
  for (const auto& [host, distinct] : places) {
    const int count = processes[host];
    sentences.push_back(
        distinct.size() == 1
            ? fmt::format("{}: {} process{} on {}", host, count, count == 1 ? "" : "es", *distinct.begin())
            : fmt::format("{}: {} processes bound to {} different places, from {} on", host, count,
                          distinct.size(), *distinct.begin()));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace ckptsim::simulator
