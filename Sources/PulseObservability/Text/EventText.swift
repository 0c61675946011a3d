// SPDX-License-Identifier: MIT

import PulseCore

/// Human-readable texts of events, for logs and traces. On one line, without secrets, of bounded length.
package enum EventText {
    private static let maxLength = 1000

    /// Untrusted text in displayable form.
    package static func shown(_ text: String) -> String {
        // Masked before it is truncated, so that no part of a secret remains.
        SeriesName.bounded(Redaction.standard.text(SeriesName.bounded(text, to: 20_000)).onOneLine, to: maxLength)
    }

    /// The method, the host and the path of a call.
    package static func title(_ method: HTTPMethod, _ host: String, _ path: String) -> String {
        let path = path.hasPrefix("/") ? path : "/" + path
        return shown("\(method) \(host)\(path)")
    }

    /// The result of a call; "under way" without one.
    package static func ending(_ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>?) -> String {
        result.map(outcome) ?? "under way"
    }

    static func outcome(_ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>) -> String {
        switch result {
        case .success(let response):
            "\(response.statusCode), \(LogText.count(response.byteCount, "byte"))"
                + (response.origin == .network ? "" : ", \(response.origin.rawValue)")
        case .failure(let error): shown(error.message)
        }
    }

    /// The text of a mark in a trace; nil for events that a trace shows in another way.
    static func mark(_ event: NetworkEvent) -> String? {
        switch event {
        case .requestRedirected(_, let status): "\(status)"
        case .requestRetrying(let call, let error, let attempt):
            "attempt \(attempt) in \(LogText.milliseconds(call.retryDelay)): \(shown(error.message))"
        case .retryGivenUp(_, let error), .authRefreshFailed(_, let error): shown(error.message)
        case .rateLimited(_, let seconds): seconds.map { "for \(LogText.milliseconds($0))" } ?? ""
        case .socketStateChanged(_, let state): shown("\(state)")
        case .socketDisconnected(_, let end): shown("\(end)")
        case .authRefreshStarted, .authRefreshSucceeded, .sessionExpired, .cacheHit, .cacheMiss, .cacheRevalidated,
            .cacheStored:
            ""
        default: nil
        }
    }
}
