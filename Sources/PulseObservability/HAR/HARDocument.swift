// SPDX-License-Identifier: MIT

import PulseCore

/// A log of HTTP exchanges in the format of browsers and proxies: HTTP Archive 1.2.
///
/// Fields that other programs may omit are optional here, so that their files can be read, see ``init(json:)``. Files
/// written by PulseKit have all of them. Names with an underscore are PulseKit's extensions, which the format allows.
package struct HARDocument: Codable, Sendable {
    package struct Log: Codable, Sendable {
        package var version: String?
        package var creator: Creator?
        package var entries: [Entry]
        package var comment: String?
    }

    package struct Creator: Codable, Sendable {
        package var name: String
        package var version: String
    }

    package struct Entry: Codable, Sendable {
        package var startedDateTime: String?
        /// The time in milliseconds, like all times here.
        package var time: Double?
        package var request: Request
        package var response: Response
        package var cache: Cache?
        package var timings: Timings?
        package var serverIPAddress: String?
        package var comment: String?
        package var _pulse: Origin?
        package var _error: Failure?
    }

    package struct Request: Codable, Sendable {
        package var method: String
        package var url: String
        package var httpVersion: String?
        package var cookies: [Field]?
        package var headers: [Field]?
        package var queryString: [Field]?
        package var postData: PostData?
        package var headersSize: Int64?
        package var bodySize: Int64?
        package var comment: String?
    }

    package struct Response: Codable, Sendable {
        package var status: Int
        package var statusText: String?
        package var httpVersion: String?
        package var cookies: [Field]?
        package var headers: [Field]?
        package var content: Content?
        package var redirectURL: String?
        package var headersSize: Int64?
        package var bodySize: Int64?
    }

    package struct Field: Codable, Sendable, Hashable {
        package var name: String
        package var value: String
    }

    package struct PostData: Codable, Sendable {
        package var mimeType: String?
        package var text: String?
        package var params: [Parameter]?
        package var comment: String?
    }

    /// The fields of a form, which browsers write in addition to its text or instead of it.
    package struct Parameter: Codable, Sendable {
        package var name: String
        package var value: String?
    }

    package struct Content: Codable, Sendable {
        package var size: Int64?
        package var mimeType: String?
        package var text: String?
        package var encoding: String?
        package var comment: String?
    }

    package struct Cache: Codable, Sendable {}

    package struct Timings: Codable, Sendable {
        package var blocked: Double?
        package var dns: Double?
        package var connect: Double?
        package var ssl: Double?
        package var send: Double?
        package var wait: Double?
        package var receive: Double?
    }

    /// The call and the exchange that an entry belongs to.
    package struct Origin: Codable, Sendable {
        package var call: String
        package var route: String
        package var attempt: Int
        package var hop: Int
        package var origin: String?
    }

    /// The reason why there is no response, or why it is incomplete.
    package struct Failure: Codable, Sendable {
        package var kind: String
        package var message: String
        /// Foundation's URL loading error code, if the network failed.
        package var code: Int?
        package var phase: String?
        /// The limit in bytes that the response exceeded.
        package var limit: Int?

        init(kind: String, message: String) {
            self.kind = kind
            self.message = message
        }
    }

    package var log: Log
    /// The deviations from the format in the file that was read.
    package var warnings: [Warning] = []

    enum CodingKeys: CodingKey {
        case log
    }

    package init(entries: [Entry]) {
        log = Log(
            version: "1.2", creator: Creator(name: "PulseKit", version: PulseVersion.current), entries: entries)
    }

    /// The file's content: UTF-8, keys sorted.
    package var json: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail: every number is finite.
        return (try? encoder.encode(self)) ?? Data()
    }
}
