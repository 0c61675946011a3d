// SPDX-License-Identifier: MIT

extension PulseError {
    /// The member of a policy's ``OfflineQueuePolicy/queues`` for this failure; nil if it never queues a call. The
    /// request of the last attempt was not sent.
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
