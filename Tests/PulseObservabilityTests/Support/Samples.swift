// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability

extension NetworkEvent.CallSummary {
    static func sample(
        _ route: String = "GetUser", host: String = "api.example.com", id: UUID = UUID(), attempt: Int = 1,
        retryDelay: TimeInterval = 0, method: HTTPMethod = .get, traceID: String? = nil, parentSpanID: String? = nil,
        spanID: String? = nil
    ) -> NetworkEvent.CallSummary {
        NetworkEvent.CallSummary(
            id: id, endpointPath: "/users/42", route: route, method: method, host: host, attempt: attempt,
            retryDelay: retryDelay, traceID: traceID, parentSpanID: parentSpanID, spanID: spanID)
    }
}

extension Result<NetworkEvent.ResponseSummary, PulseError.Summary> {
    static func ok(_ status: Int = 200, bytes: Int = 47, timings: PulseResponse.Timings? = nil) -> Self {
        .success(NetworkEvent.ResponseSummary(statusCode: status, byteCount: bytes, origin: .network, timings: timings))
    }

    static func error(_ kind: PulseError.Kind, status: Int? = nil, _ message: String = "it failed") -> Self {
        .failure(PulseError.Summary(kind: kind, statusCode: status, message: message))
    }
}

extension NetworkEvent {
    /// One event of each kind.
    static func all(of call: NetworkEvent.CallSummary, text: String = "text") -> [NetworkEvent] {
        let error = PulseError.Summary(kind: .http, statusCode: 503, message: text)
        let id = UUID()
        let url = URL(string: "https://api.example.com/users?token=hunter2") ?? URL(fileURLWithPath: "/")
        return [
            .requestStarted(call), .attemptStarted(call), .responseReceived(call, status: 200, byteCount: 47),
            .requestRedirected(call, status: 302), .requestRetrying(call, error, attempt: 2),
            .retryGivenUp(call, error), .transferProgress(call, completed: 1, total: 2), .authRefreshStarted(call),
            .authRefreshSucceeded(call), .authRefreshFailed(call, error), .sessionExpired(call), .cacheHit(call),
            .cacheMiss(call), .cacheRevalidated(call), .cacheStored(call), .cacheInvalidated(url: url),
            .circuitBreakerOpened(endpoint: text), .circuitBreakerHalfOpened(endpoint: text),
            .circuitBreakerClosed(endpoint: text), .rateLimited(call, retryAfter: 1),
            .offlineQueueEnqueued(id: id), .offlineQueueDraining(count: 1),
            .offlineQueueRequestCompleted(id: id, success: true), .offlineQueueExpired(id: id),
            .offlineQueueDeadLettered(id: id), .pinningFailed(host: text, seen: [text]),
            .connectivityChanged(ConnectivityStatus(path: .satisfied)),
            .socketStateChanged(call, .open(subprotocol: text)),
            .socketDisconnected(
                call,
                NetworkEvent.SocketDisconnection(
                    code: 1012, reason: text, endedBy: .server, error: error, messagesSent: 2, messagesReceived: 3,
                    bytesSent: 40, bytesReceived: 50)),
            .warning(text), .requestCompleted(.ok(), call, latency: 0.012),
        ]
    }
}

extension EventSink {
    /// Emits the usual events of one call.
    func emitCall(
        _ call: NetworkEvent.CallSummary, _ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary> = .ok(),
        latency: TimeInterval = 0.012
    ) {
        emit(.requestStarted(call))
        emit(.attemptStarted(call))
        if case .success(let response) = result {
            emit(.responseReceived(call, status: response.statusCode, byteCount: response.byteCount))
        }
        emit(.requestCompleted(result, call, latency: latency))
    }
}
