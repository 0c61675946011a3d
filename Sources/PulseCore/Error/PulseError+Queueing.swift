// SPDX-License-Identifier: MIT

extension PulseError {
    /// The member of ``OfflineQueuePolicy/queues`` that covers this failure; nil if the failure never queues a call.
    /// Only a failure whose last attempt sent nothing has one.
    package var queueing: OfflineQueuePolicy.Failures? {
        switch self {
        case .noConnection: return .noConnection
        case .retryExhausted(let last, _): return last.queueing
        case .transport(let code, let underlying):
            guard phase == .beforeSend else { return nil }
            if (underlying as? TransportFailure)?.code == .timedOut { return .timeoutBeforeSending }
            return Self.unreachable.contains(code) ? .cannotConnect : nil
        default: return nil
        }
    }

    private static let unreachable: Set<URLError.Code> = [
        .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .networkConnectionLost,
    ]
}
