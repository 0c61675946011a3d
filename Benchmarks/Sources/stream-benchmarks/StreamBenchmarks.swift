// SPDX-License-Identifier: MIT

import Contending
import PulseKit
import PulseTesting
import Reporting

/// What reading a stream costs beyond the loop that finds the line ends and makes the strings. Exits with code 1 if a
/// limit is exceeded.
///
/// `--short` runs a tenth of it with margins that only a gross regression exceeds.
@main
struct StreamBenchmarks {
    private static let chunkSize = 16 << 10

    private let isShort: Bool
    private let rounds: Int
    private let chunks: [Data]
    private let eventCount: Int

    static func main() async throws {
        let isShort = CommandLine.arguments.contains("--short")
        let holds = try await Task.detached { try await StreamBenchmarks(isShort: isShort).run() }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
        rounds = isShort ? 3 : 15
        eventCount = isShort ? 20_000 : 200_000
        let event = Data("data: \(String(repeating: "x", count: 92))\n\n".utf8)
        var body = Data()
        for _ in 0..<eventCount { body.append(event) }
        chunks = stride(from: 0, to: body.count, by: Self.chunkSize).map {
            Data(body[$0..<min($0 + Self.chunkSize, body.count)])
        }
    }

    private func run() async throws -> Bool {
        let transport = MockTransport(stubs: [
            Stub().reply(.chunks(chunks, contentType: "text/event-stream"))
        ])
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: URL(fileURLWithPath: "/")).with(
                \.baseURL, value: URL(string: "https://api.example.com")), transport: transport)
        let options = EventStream.Options().with(\.reconnect, value: .never)
        var (loop, bytes, lines, events) = ([Double](), [Double](), [Double](), [Double]())
        // They alternate, so that a busy moment affects all alike.
        for _ in 0..<rounds {
            loop.append(try await nanoseconds { self.loop() })
            bytes.append(
                try await nanoseconds {
                    var count = 0
                    for try await chunk in try await client.bytes("/").bytes { count += chunk.count }
                    return count == eventCount * 100 ? eventCount : 0
                })
            lines.append(
                try await nanoseconds {
                    var count = 0
                    for try await line in client.lines("/") where !line.isEmpty { count += 1 }
                    return count
                })
            events.append(
                try await nanoseconds {
                    var count = 0
                    for try await event in client.serverSentEvents("/", stream: options) where !event.data.isEmpty {
                        count += 1
                    }
                    return count
                })
        }
        await client.shutdown()
        let best = [loop, bytes, lines, events].map { $0.min() ?? 0 }
        var report = Report()
        report.heading("Nanoseconds for each event of 100 bytes", ["least", "per loop"])
        for (name, time) in zip(["the loop", "bytes", "lines, two for each", "events"], best) {
            report.row(name, [Report.decimal(time, 0), Report.decimal(time / best[0], 2)])
        }
        let promises = [
            Promise(
                "events / the loop", .atMost, 2.75, measured: best[3] / best[0], margin: isShort ? 1 : 0.05),
            Promise("lines / the loop", .atMost, 1.75, measured: best[2] / best[0], margin: isShort ? 1 : 0.05),
        ]
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    /// The nanoseconds for each of the events that `body` counts.
    private func nanoseconds(_ body: () async throws -> Int) async throws -> Double {
        let start = SystemClock().uptime
        let count = try await body()
        guard count == eventCount else { throw PulseError.invalidRequest(reason: "\(count) of \(eventCount) events") }
        return (SystemClock().uptime - start) / Double(count) * 1e9
    }

    /// Finds the line ends, and makes the strings.
    private func loop() -> Int {
        var loop = LineLoop()
        return chunks.reduce(0) { $0 + loop.count(in: $1) }
    }
}
