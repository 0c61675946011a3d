// SPDX-License-Identifier: MIT

import PulseKit

/// A POST without an idempotency key.
struct Post: Endpoint {
    typealias Response = String
    let path: String
    let body: RequestBody
    var method: HTTPMethod { .post }
}
