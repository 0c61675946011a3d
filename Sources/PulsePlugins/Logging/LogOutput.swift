// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

#if canImport(os)
import os
#endif

/// The output of a log whose options have no `output`.
enum LogOutput {
    #if canImport(os)
    private static let log = Logger(subsystem: "com.pulse", category: "logger")

    static let system: @Sendable (String) -> Void = { block in
        // The system truncates longer entries.
        for piece in LogText.pieces(of: block, upTo: 1000) {
            log.info("\(piece, privacy: .public)")
        }
    }
    #else
    static let system: @Sendable (String) -> Void = { LogWriter.standardError.write($0) }
    #endif
}
