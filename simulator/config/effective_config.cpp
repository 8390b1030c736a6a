#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simulator/config/run_config.h"
#include "simulator/config/run_fields.h"

namespace ckptsim::simulator {
namespace {

using OrderedJson = nlohmann::ordered_json;

class Writer {
 public:
  explicit Writer(OrderedJson& object) : object_(&object) {}

  template <typename Fill>
  void section(const char* key, Fill fill) const {
    OrderedJson object = OrderedJson::object();
    fill(Writer(object));
    (*object_)[key] = std::move(object);
  }
  template <typename Value>
  void field(const char* key, const Value& value) const {
    (*object_)[key] = value;
  }
  void field(const char* key, const std::optional<std::int64_t>& value) const {
    (*object_)[key] = value ? OrderedJson(*value) : OrderedJson("auto");
  }

 private:
  OrderedJson* object_;
};

}  // namespace

std::string effective_config(const RunConfig& config) {
  OrderedJson document = OrderedJson::object();
  visit_run_fields(Writer(document), config);
  try {
    return document.dump(2);
  } catch (const OrderedJson::type_error&) {
    throw ConfigError(
        "", fmt::format("{}: a text of the configuration (a target's path, most likely) is not UTF-8, and "
                        "JSON can hold no other; rename it",
                        config.name));
  }
}

}  // namespace ckptsim::simulator
