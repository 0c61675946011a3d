// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import Testing

@testable import PulseNetworking

@Suite(.timeLimit(.minutes(1)))
struct LevelLoggerTests {
    private static func lines(
        at level: PulseConfiguration.LogLevel, status: Int = 200, passing bus: PulseEventBus = PulseEventBus()
    ) async throws -> [String] {
        let lines = Locked<[String]>([])
        let logger = LevelLogger(level, bus: bus) { line, severity in
            lines.withLock { $0.append("\(severity) \(line)") }
        }
        let call = CallSummary(
            id: UUID(), endpointPath: "/users/1", route: "GetUser", method: .get, host: "api.example.com")
        let error = ErrorSummary(kind: .http, statusCode: 503, message: "HTTP status 503")
        logger.emit(.requestStarted(call))
        logger.emit(.attemptStarted(call))
        logger.emit(.requestRetrying(call, error, attempt: 2))
        logger.emit(
            .requestCompleted(.success(.init(statusCode: 200, byteCount: 5, origin: .network)), call, latency: 0.012))
        logger.emit(.requestCompleted(.failure(error), call, latency: 1))
        logger.emit(.warning("token=hunter2"))
        return lines.withLock { $0 }
    }

    @Test(arguments: [
        (PulseConfiguration.LogLevel.none, 0), (.error, 1), (.warning, 3), (.info, 4), (.debug, 6),
    ])
    func writesWhatItsLevelAsksFor(level: PulseConfiguration.LogLevel, count: Int) async throws {
        let lines = try await Self.lines(at: level)
        #expect(lines.count == count, "\(lines)")
        #expect(!lines.joined().contains("hunter2"))
    }

    @Test func writesOneReadableLineACall() async throws {
        let lines = try await Self.lines(at: .info)
        #expect(lines.contains("info GET api.example.com/users/1 200, 5 bytes in 12 ms"))
        #expect(lines.contains("error GET api.example.com/users/1 failed in 1000 ms: HTTP status 503"))
    }

    @Test func passesEveryEventOnToTheBus() async throws {
        let bus = PulseEventBus()
        let sink = RecordingSink()
        bus.addSink(sink)
        _ = try await Self.lines(at: .error, passing: bus)
        #expect(sink.events.count == 6)
    }

    @Test func tellsWhatIsQuestionableAboutAConfiguration() {
        let bus = PulseEventBus()
        let sink = RecordingSink()
        bus.addSink(sink)
        let pin = "sha256/" + Data(repeating: 1, count: 32).base64EncodedString()
        _ = PulseClient.answering(
            .test().with(\.sslPinningPolicy, value: .publicKeyHashes([pin]))
                .with(\.offlineQueuePolicy, value: OfflineQueuePolicy()), events: bus)
        #expect(sink.names == ["warning", "warning"])
    }
}
