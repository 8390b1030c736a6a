#pragma once

#include <string_view>

namespace ckptsim::storage {

// Whether it is the name of a data file as a layout gives it; a closed set, so that no file of somebody
// else's is taken for one. A number has at least as many digits as its letters here, and no leading zero
// beyond them:
//   layer_NNN-model_TT-model_states.pt
//   mp_rank_MM_model_states.pt
//   zero_pp_rank_D_mp_rank_MM_model_states.pt
//   zero_pp_rank_D_mp_rank_MM_optim_states.pt
// A layout of other names needs them here: removal and every survey of a target refuse what is not
// recognised.
[[nodiscard]] bool is_data_file_name(std::string_view name);

}  // namespace ckptsim::storage
