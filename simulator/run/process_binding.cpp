#include "simulator/run/process_binding.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "simulator/communicator/packing.h"
#include "simulator/engine/failure.h"

namespace ckptsim::simulator {
namespace {

// "Cpus_allowed_list:\t0-31,64\n" gives "0-31,64".
std::string value_of(const std::string& process_status, std::string_view key) {
  const std::string label = fmt::format("\n{}:", key);
  const std::size_t found = process_status.find(label);
  if (found == std::string::npos) return "unknown";
  const std::size_t begin = process_status.find_first_not_of(" \t", found + label.size());
  return process_status.substr(begin, process_status.find('\n', begin) - begin);
}

std::string own_status() {
  std::ifstream file("/proc/self/status");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

ProcessBinding parse_binding(const std::string& process_status) {
  return {.processors = value_of(process_status, "Cpus_allowed_list"),
          .memory_nodes = value_of(process_status, "Mems_allowed_list")};
}

std::vector<ProcessBinding> gather_bindings(Communicator& communicator) {
  const ProcessBinding mine = parse_binding(own_status());
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
