#include <cstdlib>
#include <initializer_list>
#include <string>

#include "simulator/communicator/communicator.h"

namespace ckptsim::simulator {
namespace {

// The rank variables of Open MPI, PMIx and PMI (MPICH, srun --mpi=pmi2). Slurm's own SLURM_PROCID is set in
// every batch script and says nothing of MPI.
constexpr std::initializer_list<const char*> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                               "PMI_RANK"};

}  // namespace

Launcher launcher_of_environment() {
  for (const char* variable : kRankVariables) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    if (value != nullptr) {
      return {.present = true, .process = static_cast<int>(std::strtol(value, nullptr, 10))};
    }
  }
  return {};
}

std::unique_ptr<Communicator> make_communicator() {
  return launcher_of_environment().present ? make_mpi_communicator() : make_serial_communicator();
}

}  // namespace ckptsim::simulator
