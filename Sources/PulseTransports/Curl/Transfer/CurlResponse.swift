// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The outcome of a transfer. The sender's task reads it; for a streamed response the loop does, when the head arrives.
struct CurlResponse: Sendable {
    /// Nil if the first line is not a status line.
    let head: ResponseHead?
    let body: Data
    /// The content codings of the body, the one applied last first. A buffered body is already decoded; a streamed one
    /// is not.
    let codings: [ContentCoding]
    /// Whether the body continues in the request's pipe.
    let isStreamed: Bool
    let isTruncated: Bool
    let measured: Measurements
    /// The keys of the verified chain, if none is pinned and the policy only reports.
    let unpinnedKeys: [[UInt8]]?

    /// libcurl's times of a transfer, in microseconds from its start.
    struct Measurements: Sendable {
        let nameResolved, connected, secured, ready, firstByte, total: Int64
        /// When libcurl got the last byte of the request's body, if there is one.
        var requestSent: Int64?
        let isConnectionReused: Bool
        let version: Int
        let remoteAddress: String?
        let bytesReceived: Int64
        let bytesDecoded: Int64

        init(_ easy: UnsafeMutableRawPointer, bytesDecoded: Int64) {
            nameResolved = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_NAMELOOKUP_TIME_T))
            connected = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_CONNECT_TIME_T))
            secured = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_APPCONNECT_TIME_T))
            ready = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_PRETRANSFER_TIME_T))
            firstByte = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_STARTTRANSFER_TIME_T))
            total = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_TOTAL_TIME_T))
            isConnectionReused = pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_NUM_CONNECTS)) == 0
            version = pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_HTTP_VERSION))
            remoteAddress = pulse_curl_get_string(easy, Int32(PULSE_CURLINFO_PRIMARY_IP)).map { String(cString: $0) }
            bytesReceived = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_SIZE_DOWNLOAD_T))
            self.bytesDecoded = bytesDecoded
        }
    }
}

extension TransferTimings {
    init(_ measured: CurlResponse.Measurements, queued: TimeInterval, isComplete: Bool) {
        self.init()
        func seconds(_ microseconds: Int64) -> TimeInterval? {
            microseconds > 0 ? queued + TimeInterval(microseconds) / 1e6 : nil
        }
        self.queued = queued
        isConnectionReused = measured.isConnectionReused
        if !measured.isConnectionReused {
            nameResolved = seconds(measured.nameResolved)
            connected = seconds(measured.connected)
            secured = seconds(measured.secured)
        }
        requestSent = seconds(measured.requestSent ?? measured.ready)
        firstByte = seconds(measured.firstByte)
        switch measured.version {
        case PULSE_CURL_HTTP_VERSION_1_0: networkProtocol = "http/1.0"
        case PULSE_CURL_HTTP_VERSION_1_1: networkProtocol = "http/1.1"
        case PULSE_CURL_HTTP_VERSION_2_0: networkProtocol = "h2"
        case PULSE_CURL_HTTP_VERSION_3: networkProtocol = "h3"
        default: break
        }
        remoteAddress = measured.remoteAddress.flatMap { $0.isEmpty ? nil : $0 }
        guard isComplete else { return }
        lastByte = seconds(measured.total)
        bytesReceived = measured.bytesReceived
        bytesDecoded = measured.bytesDecoded
    }
}
#endif
