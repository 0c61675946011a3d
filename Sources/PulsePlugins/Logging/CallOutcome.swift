// SPDX-License-Identifier: MIT

import PulseCore

/// How the last attempt of a call ended, for its log line. It holds no body, which would stay in memory as long as the
/// call.
struct CallOutcome: Sendable {
    enum Key: PluginContext.Key {
        typealias Value = CallOutcome
    }

    enum End: Sendable {
        case response(status: Int, body: PulseResponse.BodySize)
        case failure(PulseError.Kind, String)
    }

    /// The request as sent, if it was sent.
    let request: URLRequest
    let end: End
    let hops: Int

    init(_ result: Result<PulseResponse, PulseError>, _ request: URLRequest, for context: PluginContext) {
        switch result {
        case .success(let response):
            self.request = response.request
            end = .response(status: response.statusCode, body: response.bodySize)
        case .failure(let error):
            self.request = request
            end = .failure(error.kind, error.description)
        }
        hops = context.hop
    }

    /// False for a copy that was cancelled because another one won: it says nothing about the call.
    func replaces(_ other: CallOutcome) -> Bool {
        guard case .failure(.cancelled, _) = end, case .response(let status, _) = other.end else { return true }
        return !(200..<300).contains(status)
    }
}

extension PluginContext {
    /// The context with the number of the next request. A plugin that resends may pass on the context of the first.
    var forNextRequest: PluginContext { with(attempt: attempt) }
}

extension PulseResponse {
    /// The size of a body for the log.
    enum BodySize: Sendable {
        case bytes(Int, isTruncated: Bool)
        /// Computed when the response arrives: a file may be gone when the line is written.
        case other(text: String)

        /// `120 bytes`, `a stream`, `a file of 120 bytes`; never a path.
        var text: String {
            switch self {
            case .bytes(let count, isTruncated: false): LogText.count(count, "byte")
            case .bytes(let count, isTruncated: true): LogText.count(count, "byte") + ", cut"
            case .other(let text): text
            }
        }
    }

    var bodySize: BodySize {
        switch body {
        case .buffered(let data): .bytes(data.count, isTruncated: isTruncated)
        case .file(let file): .other(text: file.sizeText)
        case .stream, .connection, .failed: .other(text: body.description)
        }
    }
}

extension URL {
    /// The size of a file for the log.
    var sizeText: String {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let size = (attributes?[.size] as? NSNumber)?.int64Value else { return "a file" }
        return "a file of \(LogText.count(size, "byte"))"
    }
}
