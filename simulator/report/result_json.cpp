#include "simulator/report/result_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simulator/report/content_words.h"
#include "simulator/report/version.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;

// Paths and host names are bytes; what is not UTF-8 in them must not cost a result.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const RankSave& rank) {
  Json phases;
  for (std::size_t i = 0; i < kPhases; ++i)
    phases[std::string(kPhaseNames[i]) + "_ns"] = rank.phase_ns[i];
  Json profile = nullptr;
  if (rank.profile.has_value()) {
    profile = {{"generation_ns", rank.profile->generation_ns},
               {"crc_ns", rank.profile->crc_ns},
               {"submission_ns", rank.profile->submission_ns},
               {"wait_ns", rank.profile->wait_ns}};
  }
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"target", rank.target},
          {"payload_bytes", rank.payload_bytes},
          {"file_bytes", rank.file_bytes},
          {"padding_bytes", rank.padding_bytes},
          {"blocks", rank.blocks},
          {"sync_calls", rank.sync_calls},
          {"duration_ns", rank.duration_ns},
          {"phases", std::move(phases)},
          {"idle_ns", rank.idle_ns},
          {"cpu_ns", rank.cpu_ns},
          {"cpu_wait_ns", rank.cpu_wait_ns >= 0 ? Json(rank.cpu_wait_ns) : Json(nullptr)},
          {"max_rss_bytes", rank.max_rss_bytes},
          {"profile", std::move(profile)},
          {"latency",
           {{"p50_ns", rank.latency_p50_ns},
            {"p99_ns", rank.latency_p99_ns},
            {"p999_ns", rank.latency_p999_ns},
            {"max_ns", rank.latency_max_ns}}}};
}

Json to_json(const SaveResult& save) {
  Json targets = Json::array();
  for (const TargetSave& target : save.targets) {
    targets.push_back({{"target", target.target},
                       {"idle_ns", target.idle_ns},
                       {"idle_share", target.idle_share},
                       {"idle_resolution_ns", target.resolution_ns},
                       {"mean_depth", target.mean_depth}});
  }
  Json ranks = Json::array();
  for (const RankSave& rank : save.ranks)
    ranks.push_back(to_json(rank));
  return {{"duration_s", seconds(save.duration_ns)},
          {"duration_ns", save.duration_ns},
          {"barrier_to_barrier_ns", save.barrier_to_barrier_ns},
          {"payload_bytes", save.payload_bytes},
          {"file_bytes", save.file_bytes},
          {"throughput_gb_per_s", gb_per_s(save.file_bytes, save.duration_ns)},
          {"straggler_rank", save.straggler_rank},
          {"skew", save.skew},
          {"idle_share", save.idle_share},
          {"generator_bound", save.generator_bound},
          {"cpu_wait_share", save.cpu_wait_share.has_value() ? Json(*save.cpu_wait_share) : Json(nullptr)},
          {"bound_by", bound_name(save.bound)},
          {"bound_by_words", save.bound_words},
          {"targets", std::move(targets)},
          {"ranks", std::move(ranks)}};
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const RankLoad& rank) {
  Json phases;
  for (std::size_t i = 0; i < kLoadPhases; ++i)
    phases[std::string(kLoadPhaseNames[i]) + "_ns"] = rank.phase_ns[i];
  return {{"rank", rank.rank},
          {"read_rank", rank.read_rank},
          {"host", rank.host},
          {"payload_bytes", rank.payload_bytes},
          {"file_bytes", rank.file_bytes},
          {"read_bytes", rank.read_bytes},
          {"blocks", rank.blocks},
          {"cached_bytes_before", or_null(rank.cached_bytes_before)},
          {"duration_ns", rank.duration_ns},
          {"phases", std::move(phases)},
          {"idle_ns", rank.idle_ns},
          {"cpu_ns", rank.cpu_ns},
          {"cpu_wait_ns", rank.cpu_wait_ns >= 0 ? Json(rank.cpu_wait_ns) : Json(nullptr)},
          {"latency",
           {{"p50_ns", rank.latency_p50_ns},
            {"p99_ns", rank.latency_p99_ns},
            {"p999_ns", rank.latency_p999_ns},
            {"max_ns", rank.latency_max_ns}}}};
}

Json to_json(const LoadResult& load) {
  Json ranks = Json::array();
  for (const RankLoad& rank : load.ranks)
    ranks.push_back(to_json(rank));
  return {{"duration_s", seconds(load.duration_ns)},
          {"duration_ns", load.duration_ns},
          {"barrier_to_barrier_ns", load.barrier_to_barrier_ns},
          {"prepare_ns", load.prepare_ns},
          {"payload_bytes", load.payload_bytes},
          {"file_bytes", load.file_bytes},
          {"throughput_gb_per_s", gb_per_s(load.file_bytes, load.duration_ns)},
          {"straggler_rank", load.straggler_rank},
          {"skew", load.skew},
          {"idle_share", load.idle_share},
          {"cached_bytes_before", or_null(load.cached_bytes_before)},
          {"cached_share", or_null(load.cached_share)},
          {"load_from_cache", load.from_cache},
          {"ranks", std::move(ranks)}};
}

Json to_json(const EngineCost& engine) {
  return {{"start_ns", engine.start_ns},
          {"finish_ns", engine.finish_ns},
          {"gather_ns", engine.gather_ns},
          {"manifest_ns", engine.manifest_ns},
          {"journal_ns", engine.journal_ns.has_value() ? Json(*engine.journal_ns) : Json(nullptr)}};
}

Json to_json(const CheckpointResult& checkpoint) {
  return {{"pass", checkpoint.pass},
          {"warmup", checkpoint.warmup},
          {"checkpoint", checkpoint.checkpoint},
          {"redone", checkpoint.redone},
          {"prepare_ns", checkpoint.prepare_ns},
          {"manifest_ns", checkpoint.manifest_ns},
          {"pause_ns", checkpoint.pause_ns},
          {"engine", to_json(checkpoint.engine)},
          {"save", to_json(checkpoint.save)},
          {"load", checkpoint.load.has_value() ? to_json(*checkpoint.load) : Json(nullptr)}};
}

bool load_from_cache(const PassResult& pass) {
  return std::any_of(pass.checkpoints.begin(), pass.checkpoints.end(),
                     [](const CheckpointResult& checkpoint) {
                       return checkpoint.load.has_value() && checkpoint.load->from_cache;
                     });
}

bool generator_bound(const PassResult& pass) {
  for (const CheckpointResult& checkpoint : pass.checkpoints) {
    if (checkpoint.save.generator_bound) return true;
  }
  return false;
}

Json to_json(const PassResult& pass) {
  Json checkpoints = Json::array();
  for (const CheckpointResult& checkpoint : pass.checkpoints)
    checkpoints.push_back(to_json(checkpoint));
  // A pass without a checkpoint that counts has no figures, rather than zeros.
  const bool has_figures = counted(pass) > 0;
  const auto figure = [&](double value) { return has_figures ? Json(value) : Json(nullptr); };
  const auto of_loads = [&](double LoadAverages::*value) {
    return pass.load.has_value() ? Json((*pass.load).*value) : Json(nullptr);
  };
  const bool several_loads = pass.load.has_value() && pass.load->stdev_s.has_value();
  return {{"pass", pass.pass},
          {"warmup", pass.warmup},
          {"delete_ns", pass.delete_ns},
          {"trim_ns", pass.trim_ns},
          {"save_average_s", figure(pass.average_s)},
          {"save_stdev_s", pass.stdev_s.has_value() ? Json(*pass.stdev_s) : Json(nullptr)},
          {"save_min_s", figure(pass.min_s)},
          {"save_max_s", figure(pass.max_s)},
          {"throughput_gb_per_s", figure(pass.throughput_gb_per_s)},
          {"load_average_s", of_loads(&LoadAverages::average_s)},
          {"load_stdev_s", several_loads ? Json(*pass.load->stdev_s) : Json(nullptr)},
          {"load_min_s", of_loads(&LoadAverages::min_s)},
          {"load_max_s", of_loads(&LoadAverages::max_s)},
          {"load_throughput_gb_per_s", of_loads(&LoadAverages::throughput_gb_per_s)},
          {"checkpoints", std::move(checkpoints)}};
}

Json environment_json(const Environment& environment) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i < environment.hosts.size(); ++i) {
    hosts.push_back({{"name", environment.hosts[i]}, {"ranks", environment.ranks_on_host[i]}});
  }
  Json bindings = Json::array();
  for (const ProcessBinding& binding : environment.bindings) {
    bindings.push_back({{"process", binding.process},
                        {"host", binding.host},
                        {"processors", binding.processors},
                        {"memory_nodes", binding.memory_nodes}});
  }
  Json targets = Json::array();
  for (std::size_t i = 0; i < environment.targets.size(); ++i) {
    const TargetEnvironment& target = environment.targets[i];
    targets.push_back({{"target", i},
                       {"host", target.host},
                       {"path", target.path},
                       {"file_system", target.file_system},
                       {"mount_options", target.mount_options},
                       {"source", target.source},
                       {"capacity_bytes", target.capacity_bytes},
                       {"available_bytes", target.available_bytes},
                       {"io_alignment", target.io_alignment},
                       {"earlier_run",
                        {{"bytes", target.earlier_bytes},
                         {"files_removed", target.earlier_files_removed},
                         {"removal_ns", target.earlier_removal_ns}}}});
  }
  return {{"hosts", std::move(hosts)},
          {"kernel", environment.kernel},
          {"communicator", environment.communicator},
          {"processes", environment.processes},
          {"bindings", std::move(bindings)},
          {"targets", std::move(targets)}};
}

Json effective_json(const EffectiveSettings& effective) {
  return {{"backend", effective.backend},
          {"backend_reason", effective.backend_reason},
          {"direct_io", effective.direct_io},
          {"simd", effective.simd},
          {"registered_buffers", effective.registered_buffers},
          {"registered_reason", effective.registered_reason},
          {"serializer", effective.serializer},
          {"libtorch_version", effective.libtorch_version},
          {"buffer_bytes_per_rank", effective.buffer_bytes_per_rank},
          {"huge_page_share", effective.huge_page_share},
          {"torch_dialect", effective.torch_dialect},
          {"checkpoints_per_pass", effective.checkpoints_per_pass},
          {"checkpoints_reason", effective.checkpoints_reason}};
}

Json ranks_json(const RunPlan& plan) {
  Json ranks = Json::array();
  for (const RankPlan& rank : plan.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"tp", rank.tensor},
                     {"pp", rank.pipeline},
                     {"dp", rank.data},
                     {"bytes", rank.payload_bytes},
                     {"file_bytes", rank.file_bytes},
                     {"files", rank.files}});
  }
  return ranks;
}

Json plan_members(const RunConfig& config, const RunPlan& plan) {
  return {{"model", config.model.name},         {"training_state", config.training_state},
          {"layout", config.checkpoint.layout}, {"scale", config.scale},
          {"parameters", plan.parameters},      {"checkpoint_bytes", plan.payload_bytes},
          {"file_bytes", plan.file_bytes},      {"files", plan.files},
          {"ranks", ranks_json(plan)}};
}

Json flags(const RunResult& run) {
  bool bound = false;
  bool from_cache = false;
  for (const PassResult& pass : run.passes) {
    bound = bound || generator_bound(pass);
    from_cache = from_cache || load_from_cache(pass);
  }
  return {{"scaled", run.config.scale < 1},
          {"fsync", run.config.checkpoint.fsync != "off" && run.effective.backend != "null"},
          {"direct_io", run.effective.direct_io},
          {"shrinkable_content", has_shrinkable_content(run.config)},
          {"generator_bound", bound},
          {"load_from_cache", from_cache},
          {"resumed", !run.resumes.empty()}};
}

Json to_json(const ResumeRecord& resume) {
  return {{"started_utc", resume.started_utc}, {"pass", resume.pass},           {"warmup", resume.warmup},
          {"checkpoint", resume.checkpoint},   {"processes", resume.processes}, {"hosts", resume.hosts}};
}

std::string version_of(const RunResult& run) {
  return run.version.empty() ? version() : run.version;
}

}  // namespace

std::string result_json(const RunResult& run) {
  Json passes = Json::array();
  for (const PassResult& pass : run.passes)
    passes.push_back(to_json(pass));
  Json resumes = Json::array();
  for (const ResumeRecord& resume : run.resumes)
    resumes.push_back(to_json(resume));
  Json result = {{"schema", "ckptsim.result/1"},
                 {"tool", {{"name", "ckptsim"}, {"version", version_of(run)}}},
                 {"command", run.command},
                 {"started_utc", run.started_utc},
                 {"status", run.status},
                 {"config", Json::parse(effective_config(run.config))},
                 {"effective", effective_json(run.effective)},
                 {"environment", environment_json(run.environment)},
                 {"plan", plan_members(run.config, run.plan)},
                 {"flags", flags(run)},
                 {"resumes", std::move(resumes)},
                 {"passes", std::move(passes)}};
  if (!run.failure.empty()) result["failure"] = run.failure;
  return text_of(result, 1) + "\n";
}

std::string journal_header(const RunResult& run) {
  const Json line = {{"type", "run"},
                     {"schema", "ckptsim.journal/1"},
                     {"version", version_of(run)},
                     {"started_utc", run.started_utc},
                     {"command", run.command},
                     {"config", Json::parse(effective_config(run.config))},
                     {"effective", effective_json(run.effective)},
                     {"environment", environment_json(run.environment)}};
  return text_of(line, -1);
}

std::string journal_checkpoint(const CheckpointResult& checkpoint) {
  Json line = {{"type", "checkpoint"}};
  line.update(to_json(checkpoint));
  return text_of(line, -1);
}

std::string journal_removal(const Environment& environment) {
  Json targets = Json::array();
  for (std::size_t i = 0; i < environment.targets.size(); ++i) {
    targets.push_back({{"target", i},
                       {"files_removed", environment.targets[i].earlier_files_removed},
                       {"removal_ns", environment.targets[i].earlier_removal_ns}});
  }
  return text_of({{"type", "removal"}, {"targets", std::move(targets)}}, -1);
}

std::string journal_pass(const PassResult& pass) {
  const Json line = {{"type", "pass"},
                     {"pass", pass.pass},
                     {"warmup", pass.warmup},
                     {"delete_ns", pass.delete_ns},
                     {"trim_ns", pass.trim_ns}};
  return text_of(line, -1);
}

std::string journal_resume(const ResumeRecord& resume) {
  Json line = {{"type", "resume"}};
  line.update(to_json(resume));
  return text_of(line, -1);
}

std::string journal_load(std::int64_t pass, bool warmup, std::int64_t checkpoint, const LoadResult& load) {
  const Json line = {{"type", "load"},
                     {"pass", pass},
                     {"warmup", warmup},
                     {"checkpoint", checkpoint},
                     {"load", to_json(load)}};
  return text_of(line, -1);
}

std::string plan_json(const RunConfig& config, const RunPlan& plan) {
  return text_of(plan_members(config, plan), 1) + "\n";
}

}  // namespace ckptsim::simulator
