#include "simulator/report/version.h"

namespace ckptsim::simulator {

const char* version() {
  return CKPTSIM_VERSION;
}

}  // namespace ckptsim::simulator
