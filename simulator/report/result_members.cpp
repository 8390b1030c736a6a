#include "simulator/report/result_members.h"

#include <fmt/format.h>

#include <limits>

#include "storage/errors.h"

namespace ckptsim::simulator {
namespace {

using nlohmann::json;

// The schema calls 1.0 an integer, too, and knows no largest one.
void require_range(const json& value, const char* key) {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() ||
       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits)
    throw storage::FormatError(fmt::format("{} is {}, no integer of this format", key, value.dump()));
}

void get(const json& object, const char* key, std::int64_t& member) {
  const json& value = object.at(key);
  require_range(value, key);
  member = value.get<std::int64_t>();
}
void get(const json& object, const char* key, std::uint64_t& member) {
  const json& value = object.at(key);
  require_range(value, key);
  member = value.get<std::uint64_t>();
}
void get(const json& object, const char* key, int& member) {
  std::int64_t wide = 0;
  get(object, key, wide);
  if (wide > std::numeric_limits<int>::max()) {
    throw storage::FormatError(fmt::format("{} is {}, more than any run has", key, wide));
  }
  member = static_cast<int>(wide);
}
void get(const json& object, const char* key, std::string& member) {
  object.at(key).get_to(member);
}
void get(const json& object, const char* key, bool& member) {
  object.at(key).get_to(member);
}
void get(const json& object, const char* key, double& member) {
  object.at(key).get_to(member);
}
template <typename Value>
void get(const json& object, const char* key, std::optional<Value>& member) {
  member.reset();
  if (!object.at(key).is_null()) get(object, key, member.emplace());
}
// null: the figure's own "unknown".
void get_or(const json& object, const char* key, std::int64_t& member, std::int64_t unknown) {
  member = unknown;
  if (!object.at(key).is_null()) get(object, key, member);
}

RankSave rank_of(const json& object) {
  RankSave rank;
  get(object, "rank", rank.rank);
  get(object, "host", rank.host);
  get(object, "target", rank.target);
  get(object, "payload_bytes", rank.payload_bytes);
  get(object, "file_bytes", rank.file_bytes);
  get(object, "padding_bytes", rank.padding_bytes);
  get(object, "blocks", rank.blocks);
  get(object, "sync_calls", rank.sync_calls);
  get(object, "duration_ns", rank.duration_ns);
  for (std::size_t i = 0; i < kPhases; ++i)
    get(object.at("phases"), (std::string(kPhaseNames[i]) + "_ns").c_str(), rank.phase_ns[i]);
  get(object, "idle_ns", rank.idle_ns);
  get(object, "cpu_ns", rank.cpu_ns);
  get_or(object, "cpu_wait_ns", rank.cpu_wait_ns, -1);
  get(object, "max_rss_bytes", rank.max_rss_bytes);
  if (const json& profile = object.at("profile"); !profile.is_null()) {
    RankProfile& parts = rank.profile.emplace();
    get(profile, "generation_ns", parts.generation_ns);
    get(profile, "crc_ns", parts.crc_ns);
    get(profile, "submission_ns", parts.submission_ns);
    get(profile, "wait_ns", parts.wait_ns);
  }
  const json& latency = object.at("latency");
  get(latency, "p50_ns", rank.latency_p50_ns);
  get(latency, "p99_ns", rank.latency_p99_ns);
  get(latency, "p999_ns", rank.latency_p999_ns);
  get(latency, "max_ns", rank.latency_max_ns);
  return rank;
}

TargetSave target_save_of(const json& object) {
  TargetSave target;
  get(object, "target", target.target);
  get(object, "idle_ns", target.idle_ns);
  get(object, "idle_share", target.idle_share);
  get(object, "idle_resolution_ns", target.resolution_ns);
  get(object, "mean_depth", target.mean_depth);
  return target;
}

Bound bound_of(const std::string& name) {
  for (const Bound bound : {Bound::kDrive, Bound::kHost, Bound::kMemory, Bound::kSync, Bound::kOneRank}) {
    if (bound_name(bound) == name) return bound;
  }
  throw storage::FormatError(fmt::format("bound_by is \"{}\", which this version does not know", name));
}

SaveResult save_of(const json& object) {
  SaveResult save;
  get(object, "duration_ns", save.duration_ns);
  get(object, "barrier_to_barrier_ns", save.barrier_to_barrier_ns);
  get(object, "payload_bytes", save.payload_bytes);
  get(object, "file_bytes", save.file_bytes);
  get(object, "straggler_rank", save.straggler_rank);
  get(object, "skew", save.skew);
  get(object, "idle_share", save.idle_share);
  get(object, "generator_bound", save.generator_bound);
  get(object, "cpu_wait_share", save.cpu_wait_share);
  save.bound = bound_of(object.at("bound_by").get<std::string>());
  get(object, "bound_by_words", save.bound_words);
  for (const json& target : object.at("targets"))
    save.targets.push_back(target_save_of(target));
  for (const json& rank : object.at("ranks"))
    save.ranks.push_back(rank_of(rank));
  return save;
}

RankLoad rank_load_of(const json& object) {
  RankLoad rank;
  get(object, "rank", rank.rank);
  get(object, "read_rank", rank.read_rank);
  get(object, "host", rank.host);
  get(object, "payload_bytes", rank.payload_bytes);
  get(object, "file_bytes", rank.file_bytes);
  get(object, "read_bytes", rank.read_bytes);
  get(object, "blocks", rank.blocks);
  get(object, "cached_bytes_before", rank.cached_bytes_before);
  get(object, "duration_ns", rank.duration_ns);
  for (std::size_t i = 0; i < kLoadPhases; ++i)
    get(object.at("phases"), (std::string(kLoadPhaseNames[i]) + "_ns").c_str(), rank.phase_ns[i]);
  get(object, "idle_ns", rank.idle_ns);
  get(object, "cpu_ns", rank.cpu_ns);
  get_or(object, "cpu_wait_ns", rank.cpu_wait_ns, -1);
  const json& latency = object.at("latency");
  get(latency, "p50_ns", rank.latency_p50_ns);
  get(latency, "p99_ns", rank.latency_p99_ns);
  get(latency, "p999_ns", rank.latency_p999_ns);
  get(latency, "max_ns", rank.latency_max_ns);
  return rank;
}

TargetEnvironment target_of(const json& object) {
  TargetEnvironment target;
  get(object, "target", target.target);
  get(object, "host", target.host);
  get(object, "path", target.path);
  get(object, "file_system", target.file_system);
  get(object, "mount_options", target.mount_options);
  get(object, "source", target.source);
  get(object, "capacity_bytes", target.capacity_bytes);
  get(object, "available_bytes", target.available_bytes);
  get(object, "io_alignment", target.io_alignment);
  const json& earlier = object.at("earlier_run");
  get(earlier, "bytes", target.earlier_bytes);
  get(earlier, "files_removed", target.earlier_files_removed);
  get(earlier, "removal_ns", target.earlier_removal_ns);
  return target;
}

}  // namespace

std::int64_t integer_of(const json& object, const char* key) {
  std::int64_t value = 0;
  get(object, key, value);
  return value;
}

EffectiveSettings effective_of(const json& object) {
  EffectiveSettings effective;
  get(object, "backend", effective.backend);
  get(object, "backend_reason", effective.backend_reason);
  get(object, "direct_io", effective.direct_io);
  get(object, "simd", effective.simd);
  get(object, "registered_buffers", effective.registered_buffers);
  get(object, "registered_reason", effective.registered_reason);
  get(object, "serializer", effective.serializer);
  get(object, "libtorch_version", effective.libtorch_version);
  get(object, "buffer_bytes_per_rank", effective.buffer_bytes_per_rank);
  get(object, "huge_page_share", effective.huge_page_share);
  get(object, "torch_dialect", effective.torch_dialect);
  get(object, "checkpoints_per_pass", effective.checkpoints_per_pass);
  get(object, "checkpoints_reason", effective.checkpoints_reason);
  return effective;
}

Environment environment_of(const json& object) {
  Environment environment;
  for (const json& host : object.at("hosts")) {
    get(host, "name", environment.hosts.emplace_back());
    get(host, "ranks", environment.ranks_on_host.emplace_back());
  }
  get(object, "kernel", environment.kernel);
  get(object, "communicator", environment.communicator);
  get(object, "processes", environment.processes);
  for (const json& entry : object.at("bindings")) {
    ProcessBinding& binding = environment.bindings.emplace_back();
    get(entry, "process", binding.process);
    get(entry, "host", binding.host);
    get(entry, "processors", binding.processors);
    get(entry, "memory_nodes", binding.memory_nodes);
  }
  for (const json& target : object.at("targets"))
    environment.targets.push_back(target_of(target));
  return environment;
}

RunPlan plan_of(const json& object) {
  RunPlan plan;
  get(object, "parameters", plan.parameters);
  get(object, "checkpoint_bytes", plan.payload_bytes);
  get(object, "file_bytes", plan.file_bytes);
  get(object, "files", plan.files);
  for (const json& entry : object.at("ranks")) {
    RankPlan& rank = plan.ranks.emplace_back();
    get(entry, "rank", rank.rank);
    get(entry, "tp", rank.tensor);
    get(entry, "pp", rank.pipeline);
    get(entry, "dp", rank.data);
    get(entry, "bytes", rank.payload_bytes);
    get(entry, "file_bytes", rank.file_bytes);
    get(entry, "files", rank.files);
  }
  return plan;
}

LoadResult load_of(const json& object) {
  LoadResult load;
  get(object, "duration_ns", load.duration_ns);
  get(object, "barrier_to_barrier_ns", load.barrier_to_barrier_ns);
  get(object, "prepare_ns", load.prepare_ns);
  get(object, "payload_bytes", load.payload_bytes);
  get(object, "file_bytes", load.file_bytes);
  get(object, "straggler_rank", load.straggler_rank);
  get(object, "skew", load.skew);
  get(object, "idle_share", load.idle_share);
  get(object, "cached_bytes_before", load.cached_bytes_before);
  get(object, "cached_share", load.cached_share);
  get(object, "load_from_cache", load.from_cache);
  for (const json& rank : object.at("ranks"))
    load.ranks.push_back(rank_load_of(rank));
  return load;
}

CheckpointResult checkpoint_of(const json& object) {
  CheckpointResult checkpoint;
  get(object, "pass", checkpoint.pass);
  get(object, "warmup", checkpoint.warmup);
  get(object, "checkpoint", checkpoint.checkpoint);
  get(object, "redone", checkpoint.redone);
  get(object, "prepare_ns", checkpoint.prepare_ns);
  get(object, "manifest_ns", checkpoint.manifest_ns);
  get(object, "pause_ns", checkpoint.pause_ns);
  const json& engine = object.at("engine");
  get(engine, "start_ns", checkpoint.engine.start_ns);
  get(engine, "finish_ns", checkpoint.engine.finish_ns);
  get(engine, "gather_ns", checkpoint.engine.gather_ns);
  get(engine, "manifest_ns", checkpoint.engine.manifest_ns);
  get(engine, "journal_ns", checkpoint.engine.journal_ns);
  checkpoint.save = save_of(object.at("save"));
  if (const json& load = object.at("load"); !load.is_null()) checkpoint.load = load_of(load);
  return checkpoint;
}

PassResult pass_of(const json& object) {
  PassResult pass;
  get(object, "pass", pass.pass);
  get(object, "warmup", pass.warmup);
  get(object, "delete_ns", pass.delete_ns);
  get(object, "trim_ns", pass.trim_ns);
  for (const json& checkpoint : object.at("checkpoints"))
    pass.checkpoints.push_back(checkpoint_of(checkpoint));
  if (!object.at("load_average_s").is_null()) {
    LoadAverages& load = pass.load.emplace();
    get(object, "load_average_s", load.average_s);
    get(object, "load_stdev_s", load.stdev_s);
    get(object, "load_min_s", load.min_s);
    get(object, "load_max_s", load.max_s);
    get(object, "load_throughput_gb_per_s", load.throughput_gb_per_s);
  }
  // Without a checkpoint that counts there are no figures, and the writer's own rule makes them null again.
  if (counted(pass) == 0) return pass;
  get(object, "save_average_s", pass.average_s);
  get(object, "save_stdev_s", pass.stdev_s);
  get(object, "save_min_s", pass.min_s);
  get(object, "save_max_s", pass.max_s);
  get(object, "throughput_gb_per_s", pass.throughput_gb_per_s);
  return pass;
}

ResumeRecord resume_of(const json& object) {
  ResumeRecord resume;
  get(object, "started_utc", resume.started_utc);
  get(object, "pass", resume.pass);
  get(object, "warmup", resume.warmup);
  get(object, "checkpoint", resume.checkpoint);
  get(object, "processes", resume.processes);
  object.at("hosts").get_to(resume.hosts);
  return resume;
}

}  // namespace ckptsim::simulator
