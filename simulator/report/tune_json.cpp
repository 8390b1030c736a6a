#include <nlohmann/json.hpp>

#include "simulator/report/tune_report.h"
#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

using Json = nlohmann::ordered_json;

// As in a run's configuration: what is JSON stays it, anything else is a text.
Json value_json(const std::string& text) {
  return Json::accept(text) ? Json::parse(text) : Json(text);
}

Json settings_json(const Settings& settings) {
  Json object = Json::object();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    object[setting.substr(0, equals)] = value_json(setting.substr(equals + 1));
  }
  return object;
}

Json trial_json(const Trial& trial) {
  Json object{{"settings", settings_json(trial.settings)}};
  if (!trial.refusal.empty()) {
    object["refused"] = trial.refusal;
    return object;
  }
  object["gb_per_s"] = median(trial.counted());
  object["screened_gb_per_s"] = trial.screened;
  object["compared_gb_per_s"] = trial.compared;
  return object;
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kNotBetter:
      return "not_better";
    case Verdict::kOutOfTime:
      break;
  }
  return "out_of_time";
}

}  // namespace

std::string tune_json(const TuneResult& result) {
  const RunResult& run = result.facts.first;
  Json tried = Json::array();
  for (const Trial& trial : result.found.trials)
    tried.push_back(trial_json(trial));
  Json targets = Json::array();
  for (const TargetEnvironment& target : run.environment.targets)
    targets.push_back({{"path", target.path}, {"host", target.host}, {"file_system", target.file_system}});
  const Json document{{"best", Json::parse(result.best)},
                      {"verdict", verdict_name(result.found.verdict)},
                      {"sentence", verdict_sentence(result)},
                      {"gain", result.found.gain},
                      {"noise", result.found.noise},
                      {"comparisons", result.found.comparisons},
                      {"not_tried", result.found.not_tried},
                      {"tried", std::move(tried)},
                      {"checkpoint",
                       {{"file_bytes", run.plan.file_bytes},
                        {"files", run.plan.files},
                        {"ranks", run.plan.ranks.size()},
                        {"layers", run.config.model.layers},
                        {"scale", run.config.scale}}},
                      {"backend", run.effective.backend},
                      {"fsync", run.config.checkpoint.fsync},
                      {"bound_by", result.facts.bounds},
                      {"targets", std::move(targets)},
                      {"checkpoints", result.facts.checkpoints},
                      {"written_bytes", result.facts.written_bytes},
                      {"seconds", result.seconds}};
  return document.dump(2) + "\n";
}

}  // namespace ckptsim::simulator
