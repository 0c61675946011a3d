// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

#if !canImport(UIKit)
/// Processes queue and drain against a real server and are killed at random moments, repeatedly on one directory.
/// Either one runs at a time, or two share the directory, as an app and its extension do.
///
/// 36 kills: 20 rounds of the first kind and 8 of the second. If `PULSE_STEPS` is set, 996 kills: 500 rounds and 248.
/// Several series of rounds run in parallel, each with its own directory and server.
@Suite(.tags(.schedule), .throttled)
struct OfflineKillScheduleTests {
    private static let rounds = ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 20 : 500
    private static let series = 4

    @Test(arguments: [1, 2])
    @HeavyWork func acknowledgedCallsAreNeverLostAndKeepTheirOrder(processes: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<Self.series {
                group.addTask {
                    let rounds = Self.rounds / (Self.series * processes)
                    try await Self.run(rounds, processes: processes, seed: UInt64(1969 + index))
                }
            }
            try await group.waitForAll()
        }
    }

    private static func run(_ rounds: Int, processes: Int, seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let server = try await MockServer.start()
        // A refused request is not delivered: only an accepted one counts. A body that cannot be read changes nothing.
        let accepted = Locked<Set<Int>>([])
        server.on(.post, "/numbers/{number}") { request in
            let coding: HTTPHeaders = random.next() % 10 == 0 ? ["Content-Encoding": "gzip"] : [:]
            guard random.next() % 10 != 0 else { return .text("not gzip", status: 503, headers: coding) }
            accepted.withLock { _ = $0.insert(Self.number(of: request)) }
            return .text("not gzip", status: 201, headers: coding)
        }
        var model = DeliveryModel(processes: processes)
        for round in 1...rounds {
            let note: Comment = "seed \(seed), round \(round), of \(processes) processes"
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for process in 0..<processes {
                    let arguments = [
                        directory.path, "\(server.baseURL)", "\(round * processes + process)",
                        "\(random.next() % 1_000_000)", "\(random.next() % 100_000)", "\(process * 3)",
                    ]
                    group.addTask { try await runVictim(arguments) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for text in texts { model.acknowledge(text, note) }
            // The requests of the killed process are read before the next process sends.
            try await server.wait { $0.openConnectionCount == 0 }
            let pending = try await pending(in: directory, server.baseURL)
            model.check(server.requests, accepted.withLock { $0 }, pending, note)
            // So that later rounds do not cost more than earlier ones.
            if round % 10 == 0 || round == rounds { try await drainAll(in: directory, server.baseURL) }
        }
        model.check(server.requests, accepted.withLock { $0 }, [], "seed \(seed), at the end")
        // At least every other process reports a call.
        #expect(model.count >= (rounds * processes + 1) / 2)
        await server.shutdown()
    }

    /// The acknowledged calls, and the deliveries in the server's log.
    private struct DeliveryModel {
        let processes: Int
        private(set) var count = 0
        /// Acknowledged, and possibly still in the queue.
        private var open: [UUID: Int] = [:]
        private var keys: [Int: String] = [:]
        /// The latest number of each line.
        private var latest: [String: Int] = [:]
        private var seen = 0

        init(processes: Int) {
            self.processes = processes
        }

        mutating func acknowledge(_ text: String, _ note: Comment) {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                // The last line may be truncated.
                guard words.count == 3, let number = Int(words[1]), let id = UUID(uuidString: String(words[2])) else {
                    #expect(!line.hasPrefix("error"), "\(line), \(note)")
                    continue
                }
                open[id] = number
                count += 1
            }
        }

        mutating func check(
            _ requests: [RecordedRequest], _ accepted: Set<Int>, _ pending: [PendingEntry], _ note: Comment
        ) {
            for request in requests.dropFirst(seen) { arrive(request, note) }
            seen = requests.count
            let waiting = Dictionary(uniqueKeysWithValues: pending.map { ($0.id, $0) })
            for (id, number) in open {
                guard let entry = waiting[id] else {
                    #expect(accepted.contains(number), "\(number) is lost, \(note)")
                    open[id] = nil
                    continue
                }
                #expect(entry.key == "\(number / 100_000)-\(number)", note)
                #expect(entry.bodyCount == nil || entry.bodyCount == 40, note)
            }
            for line in 0..<3 * processes {
                let numbers = pending.filter { $0.line == line }.map(\.number)
                #expect(numbers == numbers.sorted(), note)
            }
        }

        private mutating func arrive(_ request: RecordedRequest, _ note: Comment) {
            let number = OfflineKillScheduleTests.number(of: request)
            let key = request.headers["Idempotency-Key"] ?? "none"
            let isKnown = keys[number] != nil
            #expect(keys[number, default: key] == key, "\(number) under another key, \(note)")
            keys[number] = key
            // Small bodies come from the journal, large ones from separate files.
            let size = Int(request.headers["X-Size"] ?? "") ?? -1
            #expect(request.bodyByteCount == size, "of \(number), \(note)")
            #expect(request.body == Data(repeating: 65, count: request.body.count), "of \(number), \(note)")
            let line = request.headers["X-Line"] ?? ""
            // A number may be repeated, but not after a later one. With two processes, a request of the killed process
            // may be read after the surviving process has also sent it, and more.
            let last = latest[line] ?? 0
            #expect(last <= number || processes > 1 && isKnown, "\(number) after \(last), \(note)")
            latest[line] = max(last, number)
        }
    }

    private static func number(of request: RecordedRequest) -> Int {
        Int(request.path.split(separator: "/").last ?? "") ?? -1
    }

    private static func client(in directory: URL, _ server: URL) -> PulseClient {
        PulseClient(
            configuration: PulseConfiguration(baseURL: server)
                .with(\.retryPolicy, value: .never).with(\.connectivity, value: .manual())
                .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(maxQueueSize: 100_000, directory: directory)))
    }

    /// The pending entries, as seen by a newly started process.
    private static func pending(in directory: URL, _ server: URL) async throws -> [PendingEntry] {
        let text = try await runVictim([directory.path, "\(server)"])
        #expect(text.hasSuffix("end\n"), "\(text.suffix(200))")
        return text.split(separator: "\n").dropLast().compactMap { PendingEntry($0) }
    }

    private static func drainAll(in directory: URL, _ server: URL) async throws {
        let client = client(in: directory, server)
        while try await client.offlineQueue?.drain() ?? 0 > 0 {}
        #expect(try await client.offlineQueue?.deadLetters().isEmpty == true)
        await client.shutdown()
    }

    /// Runs the other process to its end and returns its output.
    private static func runVictim(_ arguments: [String]) async throws -> String {
        String(
            decoding: try await ChildProcess.run(ChildProcess.product("offline-victim"), arguments).output,
            as: UTF8.self)
    }
}

/// A line of the other process's report on its queue.
private struct PendingEntry: Sendable {
    let id: UUID
    let number: Int
    let line: Int
    let key: String
    /// Nil for a body in a separate file.
    let bodyCount: Int?

    init?(_ text: Substring) {
        let words = text.split(separator: " ")
        guard words.count == 5, let id = UUID(uuidString: String(words[0])), let number = Int(words[1]),
            let line = Int(words[2])
        else {
            Issue.record("\(text)")
            return nil
        }
        (self.id, self.number, self.line, key, bodyCount) = (id, number, line, String(words[3]), Int(words[4]))
    }
}
#endif
