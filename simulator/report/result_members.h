#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulator/run/result.h"

// Internal to simulator/report.
namespace ckptsim::simulator {

// The parts of a result, from JSON that has been held against result.schema.json: the counterpart of
// result_json.cpp, member by member. An integer too large for its member is a storage::FormatError.
[[nodiscard]] EffectiveSettings effective_of(const nlohmann::json& json);
[[nodiscard]] Environment environment_of(const nlohmann::json& json);
[[nodiscard]] RunPlan plan_of(const nlohmann::json& json);
[[nodiscard]] LoadResult load_of(const nlohmann::json& json);
[[nodiscard]] CheckpointResult checkpoint_of(const nlohmann::json& json);
[[nodiscard]] PassResult pass_of(const nlohmann::json& json);
[[nodiscard]] ResumeRecord resume_of(const nlohmann::json& json);

// The member `key`, an integer from 0.
[[nodiscard]] std::int64_t integer_of(const nlohmann::json& json, const char* key);

}  // namespace ckptsim::simulator
