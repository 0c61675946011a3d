// SPDX-License-Identifier: MIT
//! One file that uses PulseKit beside a library with types of the same names.

import PulseKit
import PulseTesting

/// The types of the other library, as this file sees them.
enum Other {
    struct HTTPMethod: Sendable { let rawValue: String }
    struct HTTPHeaders: Sendable { let all: [String: String] }
}

// snippet.aliases
typealias PulseMethod = PulseKit.HTTPMethod
typealias PulseHeaders = PulseKit.HTTPHeaders
typealias PulseFormData = PulseKit.MultipartFormData
typealias PulseRetryPolicy = PulseKit.RetryPolicy
// snippet.end

// snippet.endpoint
struct SendReport: Endpoint {
    typealias Response = EmptyResponse

    let text: String

    let path = "/reports"
    let method: PulseMethod = .post  // or PulseKit.HTTPMethod
    var body: RequestBody { .text(text) }
    var options: RequestOptions { RequestOptions().with(\.retry, value: .never) }
}
// snippet.end

// snippet.convert
extension Other.HTTPMethod {
    var pulse: PulseMethod { PulseMethod(rawValue: rawValue) ?? .get }
}

extension Other.HTTPHeaders {
    var pulse: PulseHeaders { PulseHeaders(all) }
}
// snippet.end

print(Other.HTTPMethod(rawValue: "PUT").pulse, Other.HTTPHeaders(all: ["X-A": "1"]).pulse)
print(SendReport(text: "").method, PulseRetryPolicy.default.maxAttempts, PulseFormData(parts: []).parts.count)
