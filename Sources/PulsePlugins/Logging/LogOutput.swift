// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

#if canImport(os)
import os
#endif

/// Where a log goes unless the options have an `output`.
enum LogOutput {
    #if canImport(os)
    private static let log = Logger(subsystem: "com.pulse", category: "logger")

    static let system: @Sendable (String) -> Void = { block in
        // A longer entry is cut.
        for piece in LogText.pieces(of: block, upTo: 1000) {
            log.info("\(piece, privacy: .public)")
        }
    }
    #else
    static let system: @Sendable (String) -> Void = { LogWriter.standardError.write($0) }
    #endif
}
