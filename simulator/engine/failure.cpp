#include "simulator/engine/failure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <system_error>
#include <vector>

#include "models/errors.h"
#include "models/invariant.h"
#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

// "CODE RANK HOST\nMESSAGE"; empty where all is well. A host name holds no blank.
std::string encode(const std::optional<Failure>& failure) {
  if (!failure.has_value()) return {};
  return fmt::format("{} {} {}\n{}", static_cast<int>(failure->code), failure->rank, failure->host,
                     failure->message);
}

Failure decode(const std::string& text) {
  Failure failure;
  int code = 0;
  const char* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, code);
  failure.code = static_cast<ExitCode>(code);
  parsed = std::from_chars(parsed.ptr + 1, end, failure.rank);
  const auto host = static_cast<std::size_t>(parsed.ptr + 1 - text.data());
  const std::size_t line_end = text.find('\n', host);
  failure.host = text.substr(host, line_end - host);
  failure.message = text.substr(line_end + 1);
  return failure;
}

bool comes_before(const Failure& a, const Failure& b) {
  if (a.rank < 0 || b.rank < 0) return false;
  return a.rank < b.rank;
}

// Asked only when something went wrong.
bool several_hosts(Communicator& communicator) {
  const std::vector<std::string> hosts = communicator.all_gather(host_name());
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return host != hosts.front(); });
}

}  // namespace

void agree(Communicator& communicator, const std::optional<Failure>& mine) {
  if (!communicator.any(mine.has_value())) return;  // nearly always: one small collective
  std::optional<Failure> first;
  for (const std::string& part : communicator.all_gather(encode(mine))) {
    if (part.empty()) continue;
    Failure failure = decode(part);
    if (!first.has_value() || comes_before(failure, *first)) first = std::move(failure);
  }
  require(first.has_value(), "where a process says that it failed, it says how");
  if (first->rank >= 0) {
    throw RunFailure(first->code, fmt::format("rank {} on {}: {}", first->rank, first->host, first->message));
  }
  throw RunFailure(first->code, several_hosts(communicator)
                                    ? fmt::format("on {}: {}", first->host, first->message)
                                    : first->message);
}

Failure failure_of(const std::exception& error, ExitCode system_code) {
  Failure failure{.code = system_code, .message = error.what(), .host = host_name()};
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) {
    failure.code = ExitCode::kUsage;
  } else if (dynamic_cast<const storage::UnsuitableTarget*>(&error) != nullptr) {
    failure.code = ExitCode::kUnsuitable;
  } else if (dynamic_cast<const storage::FormatError*>(&error) != nullptr) {
    failure.code = ExitCode::kVerification;
  } else if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    failure.message = "not enough memory; lower storage.queue_depth, storage.block_bytes or the ranks a host";
  } else if (dynamic_cast<const std::system_error*>(&error) == nullptr) {
    throw;  // a defect, not a condition: nobody could agree on what to do about it
  }
  return failure;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown-host";
  return name.data();
}

}  // namespace ckptsim::simulator
