// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

#if !canImport(UIKit)
/// Processes queue and drain against a real server and are killed at a random moment, again and again on one directory: one at
/// a time, and two that share it, as an app and its extension do.
///
/// 20 rounds of the one and 10 of the other; 500 and 250 where `PULSE_STEPS` is set. Several lines of rounds run beside each other, each on a directory and with
/// a server of its own.
@Suite(.tags(.schedule), .timeLimit(.minutes(30)))
struct OfflineKillScheduleTests {
    private static let rounds = ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 20 : 500
    private static let lanes = 4

    @Test(arguments: [1, 2])
    @HeavyWork func losesNothingThatWasAcknowledgedAndKeepsItsOrder(processes: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.lanes {
                group.addTask {
                    let rounds = Self.rounds / (Self.lanes * processes)
                    try await Self.run(rounds, processes: processes, seed: UInt64(1969 + lane))
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
        // What was refused is not done: only what was accepted counts as arrived.
        let accepted = Locked<Set<Int>>([])
        server.on(.post, "/numbers/{number}") { request in
            guard random.next() % 10 != 0 else { return .status(503) }
            accepted.withLock { _ = $0.insert(Self.number(of: request)) }
            return .status(201)
        }
        var ledger = Ledger(processes: processes)
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
            for text in texts { ledger.acknowledge(text, note) }
            // What the killed process has sent is read before the next one sends.
            try await server.wait { $0.openConnectionCount == 0 }
            let pending = try await pending(in: directory, server.baseURL)
            ledger.check(server.requests, accepted.withLock { $0 }, pending, note)
            // So that a round does not cost more the more there were before it.
            if round % 10 == 0 || round == rounds { try await drainAll(in: directory, server.baseURL) }
        }
        ledger.check(server.requests, accepted.withLock { $0 }, [], "seed \(seed), at the end")
        // Every other life tells of one call at least.
        #expect(ledger.count >= (rounds * processes + 1) / 2)
        await server.shutdown()
    }

    /// What was acknowledged, and what the server's log proves.
    private struct Ledger {
        let processes: Int
        private(set) var count = 0
        /// Acknowledged, and not yet found to be no longer in the queue.
        private var open: [UUID: Int] = [:]
        private var keys: [Int: String] = [:]
        /// The last of each line.
        private var latest: [String: Int] = [:]
        private var seen = 0

        init(processes: Int) {
            self.processes = processes
        }

        mutating func acknowledge(_ text: String, _ note: Comment) {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                // The last one may be cut.
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
            // Small ones come from the journal, large ones from files of their own.
            let size = Int(request.headers["X-Size"] ?? "") ?? -1
            #expect(request.bodyByteCount == size, "of \(number), \(note)")
            #expect(request.body == Data(repeating: 65, count: request.body.count), "of \(number), \(note)")
            let line = request.headers["X-Line"] ?? ""
            // A number may come again, but none after a later one. What a killed process has sent may be read only once the
            // process that lives on has sent it too, and more.
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

    /// What waits, as a process sees it that has just been started.
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

    /// Runs the other process to its end; gives what it told.
    private static func runVictim(_ arguments: [String]) async throws -> String {
        String(
            decoding: try await ChildProcess.run(ChildProcess.product("offline-victim"), arguments).output,
            as: UTF8.self)
    }
}

/// A line of what the other process tells of its queue.
private struct PendingEntry: Sendable {
    let id: UUID
    let number: Int
    let line: Int
    let key: String
    /// Nil for one in a file of its own.
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
