// SPDX-License-Identifier: MIT

import PulseCore

/// Foundation's measurements of one transaction, as far as they are used.
struct SessionMetrics: Sendable, Hashable {
    var fetchStart: Date?
    var nameLookupEnd: Date?
    var connectEnd: Date?
    var secureStart: Date?
    var secureEnd: Date?
    var requestStart: Date?
    var requestEnd: Date?
    var responseStart: Date?
    var responseEnd: Date?
    var isReused = false
    var isProxied = false
    var networkProtocol: String?
    var remoteAddress: String?
    var bytesReceived: Int64?
    var bytesDecoded: Int64?
}

extension SessionMetrics {
    init(_ metrics: URLSessionTaskTransactionMetrics) {
        fetchStart = metrics.fetchStartDate
        nameLookupEnd = metrics.domainLookupEndDate
        connectEnd = metrics.connectEndDate
        secureStart = metrics.secureConnectionStartDate
        secureEnd = metrics.secureConnectionEndDate
        requestStart = metrics.requestStartDate
        requestEnd = metrics.requestEndDate
        responseStart = metrics.responseStartDate
        responseEnd = metrics.responseEndDate
        isReused = metrics.isReusedConnection
        isProxied = metrics.isProxyConnection
        networkProtocol = metrics.networkProtocolName
        remoteAddress = metrics.remoteAddress
        bytesReceived = metrics.countOfResponseBodyBytesReceived
        bytesDecoded = metrics.countOfResponseBodyBytesAfterDecoding
    }
}

extension PulseResponse.Timings {
    /// The timings of one transaction, from its start. The phases of an earlier request on the connection, which the
    /// system may report again, are nil.
    init(_ metrics: SessionMetrics) {
        self.init()
        func offset(_ date: Date?) -> TimeInterval? {
            guard let date, let start = metrics.fetchStart else { return nil }
            return max(0, date.timeIntervalSince(start))
        }
        if !metrics.isReused {
            nameResolved = offset(metrics.nameLookupEnd)
            // With TLS over TCP, connecting ends with the handshake, which begins when TCP is connected.
            let isQUIC = metrics.networkProtocol == "h3"
            connected = offset(isQUIC ? metrics.connectEnd : metrics.secureStart ?? metrics.connectEnd)
            secured = offset(metrics.secureEnd)
        }
        requestSent = offset(metrics.requestEnd)
        firstByte = offset(metrics.responseStart)
        lastByte = offset(metrics.responseEnd)
        isConnectionReused = metrics.isReused
        networkProtocol = metrics.networkProtocol
        remoteAddress = metrics.remoteAddress
        bytesReceived = metrics.bytesReceived
        bytesDecoded = metrics.bytesDecoded
    }
}
