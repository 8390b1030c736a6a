#pragma once

namespace ckptsim::cli {

// Whether a person sees what is written to stderr. mpirun gives its processes a pipe and passes that on to
// its own stderr, so under it the question is put to mpirun's, where it runs on this host.
[[nodiscard]] bool stderr_reaches_a_terminal();

}  // namespace ckptsim::cli
