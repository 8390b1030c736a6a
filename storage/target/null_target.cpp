#include "storage/target/null_target.h"

#include <cerrno>

namespace ckptsim::storage {
namespace {

class NullTarget final : public Target {
 public:
  NullTarget(const TargetOptions& options, const Clock& clock)
      : Target(clock, options.block_bytes, options.queue_depth, 1, options.huge_pages,
               Writing::kInsideSubmit) {}

  [[nodiscard]] TargetFacts facts() const override { return {"null", false, false, ""}; }

 private:
  // Nothing was kept that could be read.
  bool do_submit(Request& request, Completion& completion) override {
    if (request.kind == Request::Kind::kOpenToRead || request.kind == Request::Kind::kRead) {
      completion.error = {EOPNOTSUPP, std::system_category()};
    }
    return true;
  }
  bool do_reap(bool /*block*/, Completion& /*completion*/) override { return false; }
};

}  // namespace

std::unique_ptr<Target> make_null_target(const TargetOptions& options, const Clock& clock) {
  return std::make_unique<NullTarget>(options, clock);
}

}  // namespace ckptsim::storage
