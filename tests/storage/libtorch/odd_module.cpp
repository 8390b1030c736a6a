// Modules that are not this program's, or not of this build.
#include "storage/libtorch/module_interface.h"

extern "C" __attribute__((visibility("default"))) const ckptsim::storage::libtorch::Module*
CKPTSIM_ODD_FUNCTION() {
  static const ckptsim::storage::libtorch::Module module{.interface_version = CKPTSIM_ODD_INTERFACE,
                                                         .torch_version = CKPTSIM_ODD_VERSION};
  return &module;
}
