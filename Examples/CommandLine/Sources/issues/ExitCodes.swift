// SPDX-License-Identifier: MIT

import ArgumentParser
import PulseKit

extension ExitCode {
    /// The exit code of a failed call, by the conventions of sysexits.h and of shells.
    init(_ error: PulseError) {
        switch error.kind {
        case .cancelled: self = ExitCode(130)  // 128 + SIGINT
        case .unauthorized, .sessionExpired: self = ExitCode(77)  // EX_NOPERM
        case .rateLimited: self = ExitCode(75)  // EX_TEMPFAIL
        case .cacheMiss: self = ExitCode(66)  // EX_NOINPUT
        case .http where error.statusCode == 403: self = ExitCode(77)
        case .http where error.statusCode == 404: self = ExitCode(66)
        case .http, .noConnection, .transport, .timeout, .deadlineExceeded, .sslPinningFailed, .proxyRefused:
            self = ExitCode(69)  // EX_UNAVAILABLE
        case .decodingFailed, .emptyBody, .responseTooLarge: self = ExitCode(76)  // EX_PROTOCOL
        default: self = .failure
        }
    }
}
