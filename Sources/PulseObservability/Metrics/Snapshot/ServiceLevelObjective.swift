// SPDX-License-Identifier: MIT

public import PulseCore

/// A target for the share of calls that succeed, and for their latency.
///
/// ```swift
/// ServiceLevelObjective("checkout", route: "PlaceOrder", latency: 0.8, target: 0.999)
/// ```
///
/// A call is **good** if it succeeds within the latency. A call that was cancelled or queued offline does not count.
/// Neither does a call that failed for a reason on the caller's side:
/// - a request that could not be built,
/// - a cache-only request without a cached response,
/// - a session that is over,
/// - a status from 400 to 499 other than 408, 425 and 429.
public struct ServiceLevelObjective: Sendable, Hashable {
    /// The name in snapshots and exports. Of two objectives with the same name, the first counts.
    public let name: String
    /// The route whose calls count; nil for all.
    public let route: String?
    /// The maximum duration of a good call from start to end, in seconds; infinite for no limit.
    public let latency: TimeInterval
    /// The target share of good calls, from 0 to 1.
    public let target: Double

    /// Creates an objective for the calls of a route, or of all by default.
    ///
    /// - Parameter latency: seconds, without a limit by default; NaN counts as no limit.
    /// - Parameter target: clamped to 0...1; NaN counts as 1.
    public init(_ name: String, route: String? = nil, latency: TimeInterval = .infinity, target: Double) {
        self.name = name
        self.route = route
        self.latency = latency.isNaN ? .infinity : latency
        self.target = target.isNaN ? 1 : min(max(target, 0), 1)
    }

    /// Whether a call was good, or nil if it does not count.
    func verdict(
        on result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>, latency seconds: TimeInterval
    ) -> Bool? {
        switch result {
        case .success: return seconds <= latency || seconds.isNaN
        case .failure(let error):
            switch error.kind {
            case .cancelled, .queuedOffline, .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .cacheMiss,
                .sessionExpired:
                return nil
            default: break
            }
            guard let status = error.statusCode, (400..<500).contains(status) else { return false }
            return [408, 425, 429].contains(status) ? false : nil
        }
    }
}
