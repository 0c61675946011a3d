// SPDX-License-Identifier: MIT

#ifndef PULSE_CURL_TABLE_H
#define PULSE_CURL_TABLE_H

#include "curl_abi.h"

struct pulse_curl_table {
#define PULSE_CURL_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_CURL_FUNCTIONS(PULSE_CURL_MEMBER)
#undef PULSE_CURL_MEMBER
};

extern struct pulse_curl_table pulse_curl;

#endif
