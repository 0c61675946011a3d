// SPDX-License-Identifier: MIT

import PulseKit

/// The response of `check_encoding.py`: the request as two parsers read it.
struct EchoedRequest: Decodable, Sendable {
    let standardLibrary: Understood
    let werkzeug: Understood

    private enum CodingKeys: String, CodingKey {
        case standardLibrary = "with_standard_library"
        case werkzeug = "with_werkzeug"
    }

    /// The results of both parsers, which should agree.
    var both: [Understood] { [standardLibrary, werkzeug] }
}

struct Understood: Decodable, Sendable {
    struct Part: Decodable, Sendable, Hashable {
        let name: String
        let filename: String?
        let type: String?
        let data: Data
    }

    let segments: [String]
    let query: [[String]]
    let form: [[String]]
    let parts: [Part]
}

enum EncodingServer {
    /// Nil if the tests were not started by `run`.
    static let url = ProcessInfo.processInfo.environment["PULSEKIT_ENCODING_SERVER"].flatMap { URL(string: $0) }

    static func send(_ request: Request<EchoedRequest>) async throws -> EchoedRequest {
        let client = PulseClient(configuration: PulseConfiguration().with(\.baseURL, value: url))
        do {
            let response = try await client.request(request)
            await client.shutdown()
            return response
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
