#pragma once

#include "simulator/run/result.h"

namespace ckptsim::simulator::testing {

// A run of two ranks, three passes of two checkpoints after a warm-up pass, with durations that are easy to
// average.
inline RunResult example_run() {
  RunResult run;
  run.command = "ckptsim run example";
  run.started_utc = "2026-01-02T03:04:05Z";
  run.status = "complete";
  run.config.name = "example";
  run.config.model = {.name = "llama3.1-8b",
                      .layers = 32,
                      .hidden_size = 4096,
                      .ffn_hidden_size = 14336,
                      .attention_heads = 32,
                      .kv_heads = 8,
                      .vocabulary_size = 128256};
  run.config.scale = 0.5;
  run.config.checkpoint.checkpoints_per_pass = 2;
  run.effective.simd = "avx2";
  run.effective.buffer_bytes_per_rank = 24U << 20U;
  run.effective.huge_page_share = 1;
  run.effective.backend = "direct";
  run.effective.backend_reason = "as asked";
  run.effective.serializer = "stream";
  run.effective.checkpoints_per_pass = 2;
  run.environment = {.hosts = {"node1"},
                     .ranks_on_host = {2},
                     .kernel = "Linux",
                     .communicator = "serial",
                     .processes = 1,
                     .bindings = {{.host = "node1", .processors = "0-1", .memory_nodes = "0"}},
                     .targets = {{.host = "node1", .path = "/mnt/nvme0", .file_system = "ext4"}}};
  run.plan.parameters = 10;
  run.plan.file_bytes = 4'000'000'000;
  run.plan.files = 6;
  run.plan.ranks.resize(2);
  for (const std::int64_t number : {0, 1, 2, 3}) {
    PassResult pass{.pass = number == 0 ? 1 : number, .warmup = number == 0};
    for (const std::int64_t checkpoint : {1, 2}) {
      std::vector<RankSave> ranks(2);
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        RankSave& save = ranks[static_cast<std::size_t>(rank)];
        save.rank = rank;
        save.host = "node1";
        save.file_bytes = 2'000'000'000;
        save.payload_bytes = 1'900'000'000;
        save.duration_ns = (1 + number + checkpoint + rank) * 100'000'000;
        save.phase_ns[static_cast<std::size_t>(Phase::kWrite)] = save.duration_ns;
        save.busy = {{0, save.duration_ns}};
      }
      pass.checkpoints.push_back(
          {.pass = pass.pass,
           .warmup = pass.warmup,
           .checkpoint = checkpoint,
           .save = summarise_save(std::move(ranks), 2'000'000'000, Sink::kDrive),
           .engine = {
               .start_ns = 1'000'000, .finish_ns = 200'000, .gather_ns = 500'000, .journal_ns = 3'000'000}});
    }
    summarise_pass(pass);
    run.passes.push_back(std::move(pass));
  }
  return run;
}

// The same, of which each checkpoint of the last pass was read back: rank 1 of it, the straggler, in 0.2 and
// 0.3 s, a tenth of it for metadata.
inline RunResult example_run_with_loads() {
  RunResult run = example_run();
  run.config.checkpoint.load = "end";
  PassResult& pass = run.passes.back();
  for (CheckpointResult& checkpoint : pass.checkpoints) {
    std::vector<RankLoad> ranks(2);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      RankLoad& load = ranks[static_cast<std::size_t>(rank)];
      load.rank = rank;
      load.read_rank = rank;
      load.host = "node1";
      load.file_bytes = 2'000'000'000;
      load.payload_bytes = 1'900'000'000;
      load.duration_ns = (checkpoint.checkpoint + rank) * 100'000'000;
      load.phase_ns = {0, load.duration_ns / 10, load.duration_ns - load.duration_ns / 10, 0};
    }
    checkpoint.load = summarise_load(std::move(ranks), 400'000'000, false);
  }
  summarise_pass(pass);
  return run;
}

}  // namespace ckptsim::simulator::testing
