// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct LevelLoggerTests {
    private static func lines(
        at level: PulseConfiguration.LogLevel, status: Int = 200, passing bus: PulseEventBus = PulseEventBus()
    ) async throws -> [String] {
        let lines = Locked<[String]>([])
        let logger = LevelLogger(level, bus: bus) { line, severity in
            lines.withLock { $0.append("\(severity) \(line)") }
        }
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: "/users/1", route: "GetUser", method: .get, host: "api.example.com")
        let error = PulseError.Summary(kind: .http, statusCode: 503, message: "HTTP status 503")
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
    func theLoggerWritesTheEventsOfItsLevel(level: PulseConfiguration.LogLevel, count: Int) async throws {
        let lines = try await Self.lines(at: level)
        #expect(lines.count == count, "\(lines)")
        #expect(!lines.joined().contains("hunter2"))
    }

    @Test func theLoggerWritesOneReadableLinePerCall() async throws {
        let lines = try await Self.lines(at: .info)
        #expect(lines.contains("info GET api.example.com/users/1 200, 5 bytes in 12 ms"))
        #expect(lines.contains("error GET api.example.com/users/1 failed in 1000 ms: HTTP status 503"))
    }

    @Test(arguments: ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{1B}[2K", "\u{0}", "\u{7F}"])
    func noEventTextForgesALogLine(text: String) {
        let lines = Locked<[String]>([])
        let logger = LevelLogger(.debug, bus: PulseEventBus()) { line, _ in lines.withLock { $0.append(line) } }
        let forged = "/a\(text)error GET bank.example/login failed"
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: forged, route: "r", method: .get, host: "h\(text)")
        logger.emit(.requestStarted(call))
        logger.emit(.warning("one\(text)two"))
        let error = PulseError.Summary(kind: .custom, message: "one\(text)two")
        logger.emit(.requestCompleted(.failure(error), call, latency: 1))
        let written = lines.withLock { $0 }
        #expect(written.count == 3)
        for scalar in text.unicodeScalars where scalar.properties.generalCategory != .uppercaseLetter {
            guard !scalar.isASCII || scalar.properties.generalCategory == .control else { continue }
            #expect(written.allSatisfy { !$0.unicodeScalars.contains(scalar) }, "\(written)")
        }
        #expect(written.first?.contains("error GET bank.example/login failed") == true)
    }

    @Test func onlyControlCharactersAndLineBreaksAreEscaped() {
        #expect("a\nb\tc\u{1B}[0m".onOneLine == #"a\nb\tc\u{1B}[0m"#)
        #expect("Zo\u{EB} \u{1F468}\u{200D}\u{1F469} \\n".onOneLine == "Zo\u{EB} \u{1F468}\u{200D}\u{1F469} \\n")
        let context = PluginContext.mock(for: .mock(.get, "/"), endpointPath: "/a\nb")
        #expect(!context.description.contains("\n"))
    }

    @Test func theLogNamesTheKeysOfAnUnpinnedServer() throws {
        let line = try #require(
            EventText.line(for: .pinningFailed(host: "a.example", seen: ["sha256/A=", "sha256/B="])))
        #expect(line.0 == .error)
        #expect(line.1.contains("a.example") && line.1.contains("sha256/A=, sha256/B="))
    }

    @Test func theLoggerForwardsEveryEventToTheBus() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        _ = try await Self.lines(at: .error, passing: bus)
        #expect(sink.events.count == 6)
    }

    @Test func aQuestionableConfigurationIsLogged() {
        let pin = "sha256/" + Data(repeating: 1, count: 32).base64EncodedString()
        let stage = ClientStage(.test().with(\.sslPinningPolicy, value: .publicKeyHashes([pin])))
        #expect(stage.sink.names == ["warning"])
    }
}
