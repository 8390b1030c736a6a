#pragma once

#include "models/transformer.h"

namespace ckptsim::models::testing {

// Written out, so that a slip in configs/models/ cannot hide behind the same slip in what a test expects.
inline Transformer llama_8b() {
  return {"llama3.1-8b", 32, 4096, 14336, 32, 8, 128256};
}
inline Transformer llama_70b() {
  return {"llama3.1-70b", 80, 8192, 28672, 64, 8, 128256};
}
inline Transformer llama_405b() {
  return {"llama3.1-405b", 126, 16384, 53248, 128, 8, 128256};
}

// Small enough to reckon by hand: head size 2, query 8, qkv 16.
inline Transformer tiny() {
  return {"tiny", 5, 8, 12, 4, 2, 20};
}

}  // namespace ckptsim::models::testing
