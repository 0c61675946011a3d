// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(os)
import os
#endif

/// Writes one line an event for the configuration's `logLevel`, and passes each event on to the bus.
final class LevelLogger: EventSink {
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

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        if bus.isActive { bus.emit(event) }
        guard let (severity, text) = Self.line(for: event), severity <= level else { return }
        output(Redaction.standard.text(text), severity)
    }

    static func line(for event: NetworkEvent) -> (PulseConfiguration.LogLevel, String)? {
        switch event {
        case .requestStarted(let call): (.debug, "\(name(call)) started")
        case .attemptStarted(let call): (.debug, "\(name(call)) attempt \(call.attempt)")
        case .responseReceived(let call, let status, let bytes): (.debug, "\(name(call)) \(status), \(bytes) bytes")
        case .requestRedirected(let call, let status): (.debug, "\(name(call)) redirected, \(status)")
        case .requestRetrying(let call, let error, let attempt):
            (.warning, "\(name(call)) attempt \(attempt) in \(milliseconds(call.retryDelay)): \(error)")
        case .retryGivenUp(let call, let error): (.warning, "\(name(call)) not retried any more: \(error)")
        case .requestCompleted(.success(let response), let call, let latency):
            (.info, "\(name(call)) \(response.statusCode), \(response.byteCount) bytes in \(milliseconds(latency))")
        case .requestCompleted(.failure(let error), let call, let latency):
            (.error, "\(name(call)) failed in \(milliseconds(latency)): \(error)")
        case .warning(let text): (.warning, text)
        default: nil
        }
    }

    private static func name(_ call: CallSummary) -> String {
        "\(call.method) \(call.host)\(call.endpointPath.hasPrefix("/") ? "" : "/")\(call.endpointPath)"
    }

    private static func milliseconds(_ seconds: TimeInterval) -> String {
        // A policy of one's own, or a server, may ask for a wait of any length.
        Int(exactly: (seconds * 1000).rounded()).map { "\($0) ms" } ?? "\(seconds) s"
    }

    #if canImport(os)
    private static let log = Logger(subsystem: "com.pulse", category: "network")

    static let systemLog: @Sendable (String, PulseConfiguration.LogLevel) -> Void = { line, severity in
        switch severity {
        case .error: log.error("\(line, privacy: .public)")
        case .warning: log.warning("\(line, privacy: .public)")
        case .none, .info: log.info("\(line, privacy: .public)")
        case .debug: log.debug("\(line, privacy: .public)")
        }
    }
    #else
    static let systemLog: @Sendable (String, PulseConfiguration.LogLevel) -> Void = { line, severity in
        FileHandle.standardError.write(Data("[PulseKit] \(severity): \(line)\n".utf8))
    }
    #endif
}
