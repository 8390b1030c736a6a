#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "simulator/cli/command.h"
#include "simulator/config/run_config.h"
#include "simulator/plan/plan.h"
#include "simulator/report/plan_tables.h"
#include "simulator/report/result_json.h"

namespace ckptsim::cli {
namespace {

struct PlanOptions {
  std::string config;
  std::vector<std::string> overrides;
  std::string scale;
  OutputFormat format;
};

void print_plan(const PlanOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.scale.empty()) overrides.push_back("scale=" + options.scale);
  const simulator::RunConfig config = simulator::load_run_config(options.config, overrides);
  const simulator::RunPlan plan = simulator::make_plan(config);
  std::string text;
  if (options.format.json) {
    text = simulator::plan_json(config, plan);
  } else if (options.format.csv) {
    text = simulator::render(simulator::rank_table(plan), simulator::TableFormat::kCsv);
  } else {
    text = simulator::plan_report(config, plan, options.format.table());
  }
  print(text);
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Sizes, files and ranks of a run; no I/O");
  command->footer("Example:\n  ckptsim plan llama3.1-405b-tp4pp2 --set training_state=adam-mixed");
  command->add_option("CONFIG", options->config, "A run's JSON file, or the name of a shipped run")
      ->required();
  command->add_option("--set", options->overrides, "KEY=VALUE: changes one key of the configuration")
      ->allow_extra_args(false);
  command->add_option("--scale", options->scale, "Shrinks every shard to this fraction");
  add_output_format(*command, options->format);
  command->callback([options, &exit_code] {
    print_plan(*options);
    exit_code = 0;
  });
}

}  // namespace ckptsim::cli
