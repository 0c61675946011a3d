// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The times of a transfer, in seconds of the monotonic clock, and its timeouts. A pure value.
struct CurlTiming: Sendable {
    enum Timeout: Equatable {
        case connect, idle
        /// None before that time.
        case notBefore(TimeInterval)
    }

    private(set) var startedAt: TimeInterval = 0
    var connectedAt: TimeInterval?
    var lastActivity: TimeInterval = 0

    init(startedAt: TimeInterval = 0) {
        (self.startedAt, lastActivity) = (startedAt, startedAt)
    }

    private var quietSince: TimeInterval { max(lastActivity, connectedAt ?? startedAt) }

    /// The number of seconds without known activity.
    func idleTime(now: TimeInterval) -> TimeInterval { now - quietSince }

    /// When the timeouts of a request that has just started are first checked.
    func firstCheck(_ request: CurlRequest) -> TimeInterval {
        startedAt + min(request.connectTimeout, request.checkPeriod)
    }

    /// Checks the timeouts.
    ///
    /// - Parameter isBlocked: whether the transfer waits for this side. A blocked pipe does not make the server slow.
    /// - Parameter latestActivity: of its sockets, which is evaluated before an idle timeout.
    mutating func timeout(
        _ request: CurlRequest, now: TimeInterval, isBlocked: Bool, latestActivity: () -> TimeInterval
    ) -> Timeout {
        let nextCheck = now + request.checkPeriod
        guard connectedAt != nil else {
            let limit = startedAt + request.connectTimeout
            return now < limit ? .notBefore(min(limit, nextCheck)) : .connect
        }
        let limit = request.idleTimeout
        if isBlocked { return .notBefore(now + limit) }
        if now >= quietSince + limit { lastActivity = max(lastActivity, latestActivity()) }
        return now >= quietSince + limit ? .idle : .notBefore(min(quietSince + limit, nextCheck))
    }
}

extension CurlRequest {
    /// Seconds between two timeout checks.
    ///
    /// During an upload over a shared connection, only the byte count shows activity. It is checked more often, and the
    /// timeout is late by at most this period.
    fileprivate var checkPeriod: TimeInterval {
        hasBody ? idleTimeout / 4 : idleTimeout
    }
}

/// libcurl's times of a transfer, in microseconds from its start, and what else it has measured.
struct CurlMeasurements: Sendable {
    private let nameResolved, connected, secured, ready, firstByte, total: Int64
    /// When libcurl got the last byte of the request's body, if there is one.
    private let requestSent: Int64?
    private let isConnectionReused: Bool
    private let version: Int
    private let remoteAddress: String?
    private let bytesReceived: Int64
    private let bytesDecoded: Int64

    init(_ handle: CurlHandle, requestSent: TimeInterval?, bytesDecoded: Int64) {
        nameResolved = handle.offset(PULSE_CURLINFO_NAMELOOKUP_TIME_T)
        connected = handle.offset(PULSE_CURLINFO_CONNECT_TIME_T)
        secured = handle.offset(PULSE_CURLINFO_APPCONNECT_TIME_T)
        ready = handle.offset(PULSE_CURLINFO_PRETRANSFER_TIME_T)
        firstByte = handle.offset(PULSE_CURLINFO_STARTTRANSFER_TIME_T)
        total = handle.offset(PULSE_CURLINFO_TOTAL_TIME_T)
        self.requestSent = requestSent.map { Int64($0 * 1e6) }
        isConnectionReused = handle.isConnectionReused
        version = handle.long(PULSE_CURLINFO_HTTP_VERSION)
        remoteAddress = pulse_curl_get_string(handle.easy, Int32(PULSE_CURLINFO_PRIMARY_IP))
            .map { String(cString: $0) }
        bytesReceived = handle.offset(PULSE_CURLINFO_SIZE_DOWNLOAD_T)
        self.bytesDecoded = bytesDecoded
    }

    func timings(queued: TimeInterval, isComplete: Bool) -> TransferTimings {
        func seconds(_ microseconds: Int64) -> TimeInterval? {
            microseconds > 0 ? queued + TimeInterval(microseconds) / 1e6 : nil
        }
        var timings = TransferTimings()
        timings.queued = queued
        timings.isConnectionReused = isConnectionReused
        if !isConnectionReused {
            timings.nameResolved = seconds(nameResolved)
            timings.connected = seconds(connected)
            timings.secured = seconds(secured)
        }
        timings.requestSent = seconds(requestSent ?? ready)
        timings.firstByte = seconds(firstByte)
        switch version {
        case PULSE_CURL_HTTP_VERSION_1_0: timings.networkProtocol = "http/1.0"
        case PULSE_CURL_HTTP_VERSION_1_1: timings.networkProtocol = "http/1.1"
        case PULSE_CURL_HTTP_VERSION_2_0: timings.networkProtocol = "h2"
        case PULSE_CURL_HTTP_VERSION_3: timings.networkProtocol = "h3"
        default: break
        }
        timings.remoteAddress = remoteAddress.flatMap { $0.isEmpty ? nil : $0 }
        guard isComplete else { return timings }
        timings.lastByte = seconds(total)
        (timings.bytesReceived, timings.bytesDecoded) = (bytesReceived, bytesDecoded)
        return timings
    }
}
#endif
