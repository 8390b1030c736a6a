#include "simulator/config/config_part.h"

#include <nlohmann/json.hpp>

#include "simulator/config/key_path.h"

namespace ckptsim::simulator {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson::json_pointer pointer_to(const std::string& key) {
  return OrderedJson::json_pointer(json_pointer(split_dotted(key)));
}

std::optional<ConfigDifference> difference(const OrderedJson& value, const OrderedJson& other,
                                           const std::string& key) {
  if (value == other) return std::nullopt;
  if (!value.is_object() || !other.is_object()) return ConfigDifference{key, value.dump(), other.dump()};
  for (const auto& [name, member] : value.items()) {
    std::string below = key;
    if (!key.empty()) below += '.';
    below += name;
    auto found = difference(member, other.value(name, OrderedJson()), below);
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ConfigDifference> first_difference(const RunConfig& config, const RunConfig& other) {
  return difference(OrderedJson::parse(effective_config(config)), OrderedJson::parse(effective_config(other)),
                    "");
}

std::string config_value(const RunConfig& config, const std::string& key) {
  const OrderedJson value = OrderedJson::parse(effective_config(config)).at(pointer_to(key));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string config_part(const RunConfig& config, const std::vector<std::string>& keys) {
  const OrderedJson whole = OrderedJson::parse(effective_config(config));
  OrderedJson part = OrderedJson::object();
  for (const std::string& key : keys)
    part[pointer_to(key)] = whole.at(pointer_to(key));
  return part.dump(2);
}

}  // namespace ckptsim::simulator
