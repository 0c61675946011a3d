// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform

#if canImport(os)
import os
#endif

/// Logs one line for each event that the configuration's `logLevel` includes, and forwards every event to the bus.
package final class LevelLogger: EventSink {
    private let level: PulseConfiguration.LogLevel
    private let bus: any EventSink
    private let output: @Sendable (String, PulseConfiguration.LogLevel) -> Void

    init(
        _ level: PulseConfiguration.LogLevel, bus: any EventSink,
        output: @escaping @Sendable (String, PulseConfiguration.LogLevel) -> Void = LevelLogger.systemLog
    ) {
        self.level = level
        self.bus = bus
        self.output = output
    }

    package var isActive: Bool { true }

    package func emit(_ event: NetworkEvent) {
        if bus.isActive { bus.emit(event) }
        guard let (severity, text) = EventText.line(for: event), severity <= level else { return }
        output(Redaction.standard.text(text).onOneLine, severity)
    }

    #if canImport(os)
    private static let log = Logger(subsystem: "com.pulse", category: "network")

    package static let systemLog: @Sendable (String, PulseConfiguration.LogLevel) -> Void = { line, severity in
        switch severity {
        case .error: log.error("\(line, privacy: .public)")
        case .warning: log.warning("\(line, privacy: .public)")
        case .none, .info: log.info("\(line, privacy: .public)")
        case .debug: log.debug("\(line, privacy: .public)")
        }
    }
    #else
    package static let systemLog: @Sendable (String, PulseConfiguration.LogLevel) -> Void = { line, severity in
        LogWriter.standardError.write("[PulseKit] \(severity): \(line)")
    }
    #endif
}
