#include "simulator/communicator/packing.h"

#include <charconv>
#include <stdexcept>

namespace ckptsim::simulator {

std::string pack(const std::vector<std::string>& parts) {
  constexpr std::size_t kLengthBytes = 21;  // at most, with the colon
  std::size_t bytes = 0;
  for (const std::string& part : parts)
    bytes += part.size() + kLengthBytes;
  std::string message;
  message.reserve(bytes);
  for (const std::string& part : parts) {
    message += std::to_string(part.size());
    message += ':';
    message += part;
  }
  return message;
}

std::vector<std::string> unpack(const std::string& message) {
  std::vector<std::string> parts;
  std::size_t position = 0;
  while (position < message.size()) {
    std::size_t length = 0;
    const char* begin = message.data() + position;
    const auto [end, error] = std::from_chars(begin, message.data() + message.size(), length);
    const std::size_t start = static_cast<std::size_t>(end - message.data()) + 1;
    if (error != std::errc{} || start > message.size() || *end != ':' || length > message.size() - start) {
      throw std::invalid_argument("a message between processes is damaged");
    }
    parts.push_back(message.substr(start, length));
    position = start + length;
  }
  return parts;
}

}  // namespace ckptsim::simulator
