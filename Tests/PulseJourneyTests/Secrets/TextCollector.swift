// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// For the lines of `logLevel`, which go to the system's log.
@testable import PulseCalls

/// Collects every text that a client and its values can show.
final class TextCollector: EventSink {
    private let collected = Locked<Set<String>>([])

    var texts: Set<String> { collected.withLock { $0 } }
    var isActive: Bool { true }

    var add: @Sendable (String) -> Void {
        { text in self.collected.withLock { _ = $0.insert(text) } }
    }

    func emit(_ event: NetworkEvent) {
        add(all: event)
        LevelLogger(.debug, bus: PulseEventBus(), output: { line, _ in self.add(line) }).emit(event)
    }

    /// Printed, reflected and dumped.
    func add(all value: Any) {
        var dumped = ""
        dump(value, to: &dumped)
        let mirror = Mirror(reflecting: value)
        let texts = ["\(value)", String(reflecting: value), dumped, "\([value])", "\(mirror.children.map { $0 })"]
        for text in texts { add(text) }
    }

    func add(error: PulseError) {
        add(all: error)
        add(error.localizedDescription)
        let bridged = error as NSError
        for text in [bridged.description, bridged.debugDescription, "\(bridged.userInfo)"] { add(text) }
        if let response = error.response { add(all: response) }
        add(all: error.kind)
    }

    func add(recording: PulseRecording) {
        add(all: recording)
        add(String(decoding: recording.har(), as: UTF8.self))
        add(PulseReport(recording).html)
        add(recording.curl())
        for call in recording.calls {
            add(call.waterfall())
            for exchange in call.exchanges { add(exchange.curlCommand) }
        }
    }

    func add(request: URLRequest) {
        add(request.curlCommand(redaction: Redaction(secretHeaders: ["X-Tenant", "X-Marked", "X-Own"])))
    }
}
