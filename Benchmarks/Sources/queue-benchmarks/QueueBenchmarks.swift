// SPDX-License-Identifier: MIT

import CSQLite
import PulseKit
import PulseTesting
import Reporting

/// The cost of queueing a call durably, beside a row in SQLite (WAL, synchronous=FULL, one transaction per row), and of
/// opening a long queue. Exits with code 1 if a limit is exceeded.
///
/// `--short` runs a fiftieth of it with margins that only a gross regression exceeds. `--directory PATH` selects the
/// disk.
@main
struct QueueBenchmarks {
    private let isShort: Bool
    private let directory: URL
    private var report = Report()

    static func main() async throws {
        let arguments = CommandLine.arguments
        let place = arguments.firstIndex(of: "--directory").flatMap { arguments.dropFirst($0 + 1).first }
        let holds = try await Task.detached {
            var benchmarks = QueueBenchmarks(
                isShort: arguments.contains("--short"),
                directory: URL(fileURLWithPath: place ?? NSTemporaryDirectory())
                    .appendingPathComponent("queue-benchmarks-\(UUID().uuidString)"))
            return try await benchmarks.run()
        }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool, directory: URL) {
        self.isShort = isShort
        self.directory = directory
    }

    private mutating func run() async throws -> Bool {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let rounds = isShort ? 3 : 15
        let count = isShort ? 20 : 100
        // They alternate, so that a busy moment affects both alike.
        var (ours, theirs, oursTogether, theirsTogether) = ([Double](), [Double](), [Double](), [Double]())
        for round in 0..<rounds {
            ours.append(try await queueTime("one-\(round)", writers: 1, each: count))
            theirs.append(try await rowTime("one-\(round)", writers: 1, each: count))
            oursTogether.append(try await queueTime("many-\(round)", writers: 32, each: count / 4))
            theirsTogether.append(try await rowTime("many-\(round)", writers: 32, each: count / 4))
        }
        report.heading("Microseconds for each that is durable", ["queue", "SQLite"])
        report.row("one at a time", [ours.median, theirs.median].map { Report.decimal($0, 0) })
        report.row("32 writers", [oursTogether.median, theirsTogether.median].map { Report.decimal($0, 0) })

        let entries = isShort ? 2_000 : 100_000
        let (open, bytes) = try await opening(entries)
        let decoding = try decodingTime()
        report.heading("A queue of \(entries)", ["ms", "bytes each"])
        report.row("opened", [Report.decimal(open * 1000, 0), Report.decimal(bytes, 0)])
        report.row("its file read, its JSON decoded", [Report.decimal(decoding * 1000, 0), ""])
        let margin = isShort ? 4.0 : 0.05
        let promises = [
            Promise(
                "one at a time, as a part of SQLite's time", .atMost, 1, measured: ours.median / theirs.median,
                margin: margin),
            Promise(
                "32 writers, times SQLite's rate", .atLeast, 3, measured: theirsTogether.median / oursTogether.median,
                margin: isShort ? 0.9 : 0.05),
            Promise("opening / decoding its JSON", .atMost, 0.25, measured: open / decoding, margin: margin),
            Promise("bytes of memory an entry", .atMost, 1000, measured: bytes, margin: margin),
        ]
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    // MARK: Measuring

    private func client(_ name: String) -> PulseClient {
        PulseClient(
            configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com"))
                .with(\.retryPolicy, value: .never).with(\.connectivity, value: .manual(.unsatisfied))
                .with(
                    \.offlineQueuePolicy,
                    value: OfflineQueuePolicy(
                        maxQueueSize: .max, directory: directory.appendingPathComponent(name))),
            transport: MockTransport(recordsRequests: false) { _ in throw PulseError.noConnection })
    }

    /// Microseconds per entry: a whole call that finds no connection.
    private func queueTime(_ name: String, writers: Int, each: Int) async throws -> Double {
        let client = client(name)
        try await Self.queue(client)
        let start = SystemClock().uptime
        try await Self.run(writers, each) { try await Self.queue(client) }
        let time = SystemClock().uptime - start
        await client.shutdown()
        return time / Double(writers * each) * 1e6
    }

    private static func queue(_ client: PulseClient) async throws {
        do {
            _ = try await client.request(SaveNote())
        } catch PulseError.queuedOffline {}
    }

    /// Microseconds per row; several writers have a connection each, on a thread of its own.
    private func rowTime(_ name: String, writers: Int, each: Int) async throws -> Double {
        let path = directory.appendingPathComponent("\(name).sqlite").path
        let body = [UInt8](repeating: 65, count: 400)
        // Neither opening nor closing counts.
        let tables = (0..<writers).compactMap { _ in benchmark_table_open(path).map(Table.init) }
        guard tables.count == writers else { throw PulseError.unsupported("there is no sqlite3 that opens a file") }
        tables[0].insert(body)
        let time = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let start = SystemClock().uptime
                let group = DispatchGroup()
                for table in tables {
                    group.enter()
                    Thread.detachNewThread {
                        for _ in 0..<each { table.insert(body) }
                        group.leave()
                    }
                }
                group.wait()
                continuation.resume(returning: (SystemClock().uptime - start) / Double(writers * each) * 1e6)
            }
        }
        for table in tables { benchmark_table_close(table.pointer) }
        return time
    }

    private static func run(
        _ writers: Int, _ each: Int, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<writers {
                group.addTask {
                    for _ in 0..<each { try await body() }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Seconds to open a queue of that length, and the bytes per entry in memory.
    private func opening(_ count: Int) async throws -> (seconds: Double, bytes: Double) {
        let first = client("long")
        try await Self.run(200, count / 200) { try await Self.queue(first) }
        await first.shutdown()
        var times: [Double] = []
        var growth: [Double] = []
        var clients: [PulseClient] = []
        for _ in 0..<(isShort ? 2 : 5) {
            let before = ResidentMemory.size ?? 0
            let start = SystemClock().uptime
            let client = client("long")
            guard try await client.offlineQueue?.count() == count else {
                throw PulseError.invalidRequest(reason: "entries are missing")
            }
            times.append(SystemClock().uptime - start)
            growth.append(Double((ResidentMemory.size ?? 0) - before) / Double(count))
            clients.append(client)
        }
        for client in clients { await client.shutdown() }
        return (times.median, growth.median)
    }

    /// Seconds to read the file of that queue and to decode the JSON of its lines, which opening it does not.
    private func decodingTime() throws -> Double {
        let (start, decoder) = (SystemClock().uptime, JSONDecoder())
        for line in try Data(contentsOf: directory.appendingPathComponent("long/journal")).split(separator: 0x0A) {
            guard let json = line.firstIndex(of: UInt8(ascii: "{")) else { continue }
            _ = try decoder.decode(QueuedNote.self, from: line[json...])
        }
        return SystemClock().uptime - start
    }
}

/// A connection that SQLite serializes; here one thread at a time uses each.
private struct Table: @unchecked Sendable {
    let pointer: OpaquePointer

    func insert(_ body: [UInt8]) {
        let code = body.withUnsafeBytes {
            benchmark_table_insert(pointer, UUID().uuidString, $0.baseAddress, Int32($0.count))
        }
        if code != 0 { print("sqlite3 failed with \(code)") }
    }
}

private struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .data(Data(repeating: 65, count: 100), contentType: "application/json") }
    let isQueueableWhenOffline = true
}

/// The fields of a queued note that every HTTP client would need; a line about its state has none.
private struct QueuedNote: Decodable {
    let method: String?
    let url: String?
    let headers: [String: String]?
    let body: Data?
}

extension [Double] {
    fileprivate var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}
