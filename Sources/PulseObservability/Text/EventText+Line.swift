// SPDX-License-Identifier: MIT

package import PulseCore

extension EventText {
    /// The severity of an event and its log text; nil for an event that is not logged. The text is not yet masked, and
    /// may have several lines.
    package static func line(for event: NetworkEvent) -> (PulseConfiguration.LogLevel, String)? {
        switch event {
        case .requestStarted(let call): (.debug, "\(name(call)) started")
        case .attemptStarted(let call): (.debug, "\(name(call)) attempt \(call.attempt)")
        case .responseReceived(let call, let status, let bytes): (.debug, "\(name(call)) \(status), \(bytes) bytes")
        case .requestRedirected(let call, let status): (.debug, "\(name(call)) redirected, \(status)")
        case .requestRetrying(let call, let error, let attempt):
            (.warning, "\(name(call)) attempt \(attempt) in \(LogText.milliseconds(call.retryDelay)): \(error)")
        case .retryGivenUp(let call, let error): (.warning, "\(name(call)) not retried any more: \(error)")
        case .requestCompleted(.success(let response), let call, let latency):
            (
                .info,
                "\(name(call)) \(response.statusCode), \(response.byteCount) bytes in \(LogText.milliseconds(latency))"
            )
        case .requestCompleted(.failure(let error), let call, let latency):
            (.error, "\(name(call)) failed in \(LogText.milliseconds(latency)): \(error)")
        // Also if it is only reported: the connection may be intercepted, or the policy may be about to lock users out.
        case .pinningFailed(let host, let seen):
            (.error, "\(host) has none of the pinned keys; its chain has \(seen.joined(separator: ", "))")
        case .warning(let text): (.warning, text)
        case .authRefreshFailed(let call, let error): (.warning, "\(name(call)) token refresh failed: \(error)")
        case .sessionExpired(let call): (.warning, "\(name(call)) session expired")
        case .rateLimited(let call, let seconds):
            (.warning, "\(name(call)) rate limited\(seconds.map { ", \(LogText.milliseconds($0))" } ?? "")")
        case .circuitBreakerOpened(let key): (.warning, "circuit of \(key) open")
        case .circuitBreakerHalfOpened(let key): (.info, "circuit of \(key) half open")
        case .circuitBreakerClosed(let key): (.info, "circuit of \(key) closed")
        case .connectivityChanged(let status): (.info, "connectivity \(status.path)")
        case .offlineQueueEnqueued(let id): (.info, "offline queue: \(id) queued")
        case .offlineQueueDraining(let count): (.debug, "offline queue: sending, \(count) pending")
        case .offlineQueueRequestCompleted(let id, success: true): (.info, "offline queue: \(id) delivered")
        case .offlineQueueRequestCompleted(let id, success: false): (.warning, "offline queue: \(id) not delivered")
        case .offlineQueueExpired(let id): (.error, "offline queue: \(id) expired")
        case .offlineQueueDeadLettered(let id): (.error, "offline queue: \(id) dead-lettered")
        case .socketStateChanged(let call, let state): (level(of: state), "\(name(call)) socket \(state)")
        case .socketDisconnected(let call, let end): (.info, "\(name(call)) socket \(end)")
        // These events are frequent, and the call's other log lines show its result.
        case .transferProgress, .authRefreshStarted, .authRefreshSucceeded, .cacheHit, .cacheMiss, .cacheRevalidated,
            .cacheStored, .cacheInvalidated:
            nil
        }
    }

    private static func level(of state: SocketState) -> PulseConfiguration.LogLevel {
        switch state {
        case .idle, .connecting, .closing: .debug
        // Code 1000 is the regular end.
        case .open, .closed(nil), .closed(.socketClosed(code: 1000, reason: _)): .info
        case .reconnecting: .warning
        case .closed: .error
        }
    }

    private static func name(_ call: NetworkEvent.CallSummary) -> String {
        "\(call.method) \(call.host)\(call.endpointPath.hasPrefix("/") ? "" : "/")\(call.endpointPath)"
    }
}
