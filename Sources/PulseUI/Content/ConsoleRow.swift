// SPDX-License-Identifier: MIT

public import PulseCore
import PulseObservability

/// A call as a row of the console.
public struct ConsoleRow: Sendable, Hashable, Identifiable {
    /// The call's id, as in its events.
    public let id: UUID
    /// The method of the call's own request.
    public let method: HTTPMethod
    /// The initial host of the call.
    public let host: String
    /// The path without its query; never empty.
    public let path: String
    /// How the call ended.
    public let outcome: ConsoleOutcome
    /// The status, else the error, else the state of the call: `200`, `timed out`, `running`.
    public let outcomeText: String
    /// When the call started.
    public let startedAt: Date
    /// Its duration in seconds; nil while it is in progress.
    public let duration: TimeInterval?
    /// The size of the response's body in bytes; nil if it is unknown.
    public let byteCount: Int64?
    /// The number of attempts, as far as it is known: 0 if nothing was sent, as for a cached response.
    public let attempts: Int
    /// The source of a response that did not come over the network, such as `cache`.
    public let origin: String?

    init(_ call: PulseRecording.Call) {
        id = call.id
        method = call.method
        host = call.host
        path = call.endpointPath.hasPrefix("/") ? call.endpointPath : "/" + call.endpointPath
        outcome = ConsoleOutcome(call)
        outcomeText = call.outcomeText
        startedAt = call.startedAt
        duration = call.outcome == nil ? nil : call.latency
        byteCount = call.responseByteCount
        attempts = call.attemptCount
        origin = call.isServedLocally ? call.origin?.rawValue : nil
    }

    /// The outcome, a local origin, the duration, the size and the number of attempts on one line: `200, 214 ms, 12
    /// bytes, 2 attempts`.
    public var summary: String {
        let size = byteCount.map { ConsoleText.size($0) }
        let count = attempts > 1 ? LogText.count(attempts, "attempt") : nil
        return [outcomeText, origin, duration.map { ConsoleText.duration($0) }, size, count].compactMap { $0 }
            .joined(separator: ", ")
    }
}

extension PulseRecording.Call {
    var origin: PulseResponse.Origin? {
        guard case .success(let response) = outcome else { return nil }
        return response.origin
    }

    /// Whether the response was stored, or belongs to another call, so that this call may have no request.
    var isServedLocally: Bool {
        switch origin {
        case .cache, .stale, .coalesced: true
        case .network, .revalidated, .mock, nil: false
        }
    }

    /// Whether a server sent a response for this call.
    var hasNetworkResponse: Bool { statusCode != nil && !isServedLocally }

    fileprivate var outcomeText: String {
        switch outcome {
        case nil: "running"
        case .success(let response): "\(response.statusCode)"
        case .failure(let error): error.statusCode.map { "\($0)" } ?? EventText.shown(error.message)
        }
    }

    /// The larger of the size in the call's event, which a stream lacks, and that of the last request's response, which
    /// a validated response lacks.
    fileprivate var responseByteCount: Int64? {
        let received = exchanges.last?.response?.body.byteCount
        guard case .success(let response) = outcome else { return received }
        return max(Int64(response.byteCount), received ?? 0)
    }

    fileprivate var attemptCount: Int {
        let retries = marks.count { $0.kind == .retrying }
        let known = max(exchanges.map(\.attempt).max() ?? 0, retries > 0 ? retries + 1 : 0)
        return known == 0 && hasNetworkResponse ? 1 : known
    }
}
