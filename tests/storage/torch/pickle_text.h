#pragma once

#include <cstdint>
#include <string>

#include "storage/torch/little_endian.h"
#include "storage/torch/pickle_opcodes.h"

// Pickles written by hand, opcode by opcode: what no pickler would write.
namespace ckptsim::storage::torch {

[[nodiscard]] inline std::string unicode(const std::string& text) {
  std::string opcode(1, kBinUnicode);
  append_little_endian(opcode, static_cast<std::uint32_t>(text.size()));
  return opcode + text;
}

[[nodiscard]] inline std::string put(std::uint32_t slot) {
  std::string opcode(1, kLongBinPut);
  append_little_endian(opcode, slot);
  return opcode;
}

[[nodiscard]] inline std::string get(std::uint32_t slot) {
  std::string opcode(1, kLongBinGet);
  append_little_endian(opcode, slot);
  return opcode;
}

[[nodiscard]] inline std::string integer(std::uint8_t value) {
  return {kBinInt1, static_cast<char>(value)};
}

[[nodiscard]] inline std::string pickle(const std::string& body) {
  return std::string("\x80\x02", 2) + body + kStop;
}

[[nodiscard]] inline std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

[[nodiscard]] inline std::string storage_of(const std::string& elements,
                                            const std::string& name = "FloatStorage") {
  return "((" + unicode("storage") + "ctorch\n" + name + "\n" + unicode("0") + unicode("cpu") + elements +
         "tQ";
}

// All of a tensor but the name: a call with these parts.
[[nodiscard]] inline std::string tensor_of(const std::string& storage, const std::string& offset,
                                           const std::string& sizes, const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n" + storage + offset + sizes + strides + kNewFalse +
         "ccollections\nOrderedDict\n)RtR";
}

}  // namespace ckptsim::storage::torch
