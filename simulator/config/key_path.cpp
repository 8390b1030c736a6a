#include "simulator/config/key_path.h"

#include <algorithm>
#include <utility>

namespace ckptsim::simulator {
namespace {

bool is_index(const std::string& key) {
  return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string dotted(const KeyPath& path) {
  std::string text;
  for (const std::string& key : path) {
    if (is_index(key) && !text.empty()) {
      text.append("[").append(key).append("]");
    } else {
      text.append(text.empty() ? "" : ".").append(key);
    }
  }
  return text;
}

std::string json_pointer(const KeyPath& path) {
  std::string text;
  for (const std::string& key : path) {
    text += '/';
    for (const char letter : key) {
      if (letter == '~') {
        text += "~0";
      } else if (letter == '/') {
        text += "~1";
      } else {
        text += letter;
      }
    }
  }
  return text;
}

KeyPath split_dotted(std::string_view text) {
  KeyPath path;
  while (true) {
    const std::size_t dot = text.find('.');
    path.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) {
      return path;
    }
    text.remove_prefix(dot + 1);
  }
}

KeyPath below(KeyPath path, std::string key) {
  path.push_back(std::move(key));
  return path;
}

bool is_within(const KeyPath& path, const KeyPath& ancestor) {
  return path.size() >= ancestor.size() && std::equal(ancestor.begin(), ancestor.end(), path.begin());
}

}  // namespace ckptsim::simulator
