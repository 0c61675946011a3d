// SPDX-License-Identifier: MIT

#ifndef C_PULSE_PLATFORM_H
#define C_PULSE_PLATFORM_H

#if defined(__linux__)

#include "address.h"
#include "decode.h"
#include "deflate.h"
#include "hash.h"
#include "http2.h"
#include "netlink.h"
#include "network.h"
#include "poller.h"
#include "tls_client.h"
#include "tls_library.h"

#endif

#endif
