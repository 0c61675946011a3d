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

extension PulseResponse.Timings {
    /// The phases that libcurl has measured, after the wait of `queued` seconds.
    ///
    /// - Parameter requestSent: the seconds from the start of the transfer until libcurl got the last byte of the
    ///   request's body, if there is one.
    init(
        _ handle: CurlHandle, queued: TimeInterval, requestSent: TimeInterval?, bytesDecoded: Int64, isComplete: Bool
    ) {
        func end(of phase: Int) -> TimeInterval? {
            let microseconds = handle.offset(phase)
            return microseconds > 0 ? queued + TimeInterval(microseconds) / 1e6 : nil
        }
        self.init()
        self.queued = queued
        isConnectionReused = handle.isConnectionReused
        if isConnectionReused == false {
            nameResolved = end(of: PULSE_CURLINFO_NAMELOOKUP_TIME_T)
            connected = end(of: PULSE_CURLINFO_CONNECT_TIME_T)
            secured = end(of: PULSE_CURLINFO_APPCONNECT_TIME_T)
        }
        self.requestSent = requestSent.map { queued + $0 } ?? end(of: PULSE_CURLINFO_PRETRANSFER_TIME_T)
        firstByte = end(of: PULSE_CURLINFO_STARTTRANSFER_TIME_T)
        switch handle.long(PULSE_CURLINFO_HTTP_VERSION) {
        case PULSE_CURL_HTTP_VERSION_1_0: networkProtocol = "http/1.0"
        case PULSE_CURL_HTTP_VERSION_1_1: networkProtocol = "http/1.1"
        case PULSE_CURL_HTTP_VERSION_2_0: networkProtocol = "h2"
        case PULSE_CURL_HTTP_VERSION_3: networkProtocol = "h3"
        default: break
        }
        let address = pulse_curl_get_string(handle.easy, Int32(PULSE_CURLINFO_PRIMARY_IP))
        remoteAddress = address.flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
        guard isComplete else { return }
        lastByte = end(of: PULSE_CURLINFO_TOTAL_TIME_T)
        bytesReceived = handle.offset(PULSE_CURLINFO_SIZE_DOWNLOAD_T)
        self.bytesDecoded = bytesDecoded
    }
}
#endif
