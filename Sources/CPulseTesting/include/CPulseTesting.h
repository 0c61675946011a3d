// SPDX-License-Identifier: MIT

#ifndef C_PULSE_TESTING_H
#define C_PULSE_TESTING_H

#if defined(__linux__)

#include "http2_server.h"
#include "tls_identity.h"
#include "tls_server.h"

#endif

#endif
