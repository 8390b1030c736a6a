#include <cstdlib>
#include <stdexcept>

#include "simulator/communicator/communicator.h"

namespace ckptsim::simulator {
namespace {

class SerialCommunicator final : public Communicator {
 public:
  [[nodiscard]] int process() const override { return 0; }
  [[nodiscard]] int processes() const override { return 1; }
  void barrier() override {}
  [[nodiscard]] bool any(bool here) override { return here; }
  [[nodiscard]] std::string broadcast(std::string text) override { return text; }
  [[nodiscard]] std::vector<std::string> gather(std::string text, int /*root*/) override {
    return {std::move(text)};
  }
  [[nodiscard]] std::vector<std::string> all_gather(std::string text) override { return {std::move(text)}; }
  void post(int destination, const SideMessage& /*message*/) override {
    throw std::logic_error("a single process has nobody to send to, not even process " +
                           std::to_string(destination));
  }
  [[nodiscard]] std::optional<SideMessage> poll() override { return std::nullopt; }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
  [[nodiscard]] std::string description() const override { return "serial"; }
};

}  // namespace

std::unique_ptr<Communicator> make_serial_communicator() {
  return std::make_unique<SerialCommunicator>();
}

}  // namespace ckptsim::simulator
