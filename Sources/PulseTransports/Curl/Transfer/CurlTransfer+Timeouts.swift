// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension CurlTransfer {
    /// Seconds between two timeout checks.
    ///
    /// During an upload over a shared connection, only the byte count shows activity. It is checked more often, and the
    /// timeout is late by at most this period.
    var checkPeriod: TimeInterval {
        request.hasBody ? request.idleTimeout / 4 : request.idleTimeout
    }

    /// For how many seconds it tolerates a silent server.
    var patience: TimeInterval {
        // A blocked pipe on this side does not make the server slow. With an error response libcurl sends no more and
        // requests no more of the body.
        let isBlocked = progress.isReceivingPaused || progress.isSendingPaused && parser.status < 300
        return isBlocked ? .infinity : request.idleTimeout
    }

    /// The number of seconds without known activity.
    func idleTime(now: TimeInterval) -> TimeInterval {
        now - max(progress.lastActivity, progress.connectedAt ?? startedAt)
    }

    /// Whether a part of the request's body is unsent.
    var isSendingBody: Bool {
        guard let length = request.bodyLength, progress.requestSentAt == nil else { return false }
        return pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_SIZE_UPLOAD_T)) < length
    }

    /// Whether the connection may serve other transfers, so that its activity says nothing about this one.
    ///
    /// The version is known from the status line on; before that TLS knows the negotiated protocol. Without OpenSSL
    /// only the version is available.
    private var sharesConnection: Bool {
        pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_HTTP_VERSION)) >= PULSE_CURL_HTTP_VERSION_2_0
            || pulse_tls_state(easy) == PULSE_TLS_MULTIPLEXED
    }

    func timeout(now: TimeInterval) -> TimeoutCheck {
        if progress.connectedAt == nil, !library.hasPrerequest, mayHaveSent {
            // Uses the time, not just the fact: this may be the first check for as long as the timeout.
            let ready = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_PRETRANSFER_TIME_T))
            progress.connectedAt = min(now, startedAt + TimeInterval(ready) / 1e6)
        }
        guard let connectedAt = progress.connectedAt else {
            let limit = startedAt + request.connectTimeout
            guard now < limit else {
                return .expired(
                    TransportFailure(code: .timedOut, phase: .beforeSend, underlying: CurlFailure.slowProxy(request)))
            }
            return .notBefore(min(limit, now + checkPeriod))
        }
        guard patience < .infinity else { return .notBefore(now + request.idleTimeout) }
        if let length = request.bodyLength {
            let uploaded = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_SIZE_UPLOAD_T))
            if progress.uploadCount.moves(to: uploaded, of: length) { progress.lastActivity = now }
        }
        var latest = max(progress.lastActivity, connectedAt)
        if now >= latest + request.idleTimeout {
            if !sharesConnection {
                progress.lastActivity = max(progress.lastActivity, pulse_loop_last_activity(poller, easy))
            }
            latest = max(progress.lastActivity, latest)
        }
        guard now >= latest + request.idleTimeout else {
            return .notBefore(min(latest + request.idleTimeout, now + checkPeriod))
        }
        let phase: PulseError.Phase = parser.hasBegun ? .responseStarted : .maybeSent
        return .expired(TransportFailure(code: .timedOut, phase: phase))
    }
}
#endif
