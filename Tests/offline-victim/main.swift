// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// Enqueues and drains until the process kills itself, at a time derived from its seed. It prints each number whose call
// was queued: from then on the call must arrive.
//
// Usage: offline-victim DIRECTORY SERVER LIFE SEED LIFETIME-IN-MICROSECONDS FIRST-LINE
//        offline-victim DIRECTORY SERVER
//
// The second form prints the pending entries, sends nothing, and ends with a line "end".

let arguments = CommandLine.arguments
if arguments.count == 3, let server = URL(string: arguments[2]) {
    let policy = OfflineQueuePolicy(maxQueueSize: 100_000, directory: URL(fileURLWithPath: arguments[1]))
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server).with(\.connectivity, value: .manual())
            .with(\.offlineQueuePolicy, value: policy),
        transport: MockTransport { _ in throw PulseError.noConnection })
    var text = ""
    for entry in try await client.offlineQueue?.pending() ?? [] {
        let body = entry.hasLargeBody ? "file" : "\(entry.body?.count ?? 0)"
        let line = entry.tag?.split(separator: " ").last ?? ""
        text += "\(entry.id) \(entry.url.lastPathComponent) \(line) \(entry.idempotencyKey ?? "none") \(body)\n"
    }
    await client.shutdown()
    FileHandle.standardOutput.write(Data((text + "end\n").utf8))
    exit(0)
}
guard arguments.count == 7, let server = URL(string: arguments[2]), let life = Int(arguments[3]),
    let seed = UInt64(arguments[4]), let lifetime = useconds_t(arguments[5]), let firstLine = Int(arguments[6])
else { exit(64) }

enum Life {
    static let number = CommandLine.arguments[3]
}

/// Reports no connection for the first attempt of each call of this life, so that every call is queued. Later attempts
/// are sent.
// Unchecked: the set is accessed only under the lock.
final class Airplane: Transport, @unchecked Sendable {
    private let wire = StandardTransport()
    private let lock = NSLock()
    private var seen: Set<String> = []

    var capabilities: TransportCapabilities { wire.capabilities }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        let key = request.urlRequest.value(forHTTPHeaderField: "Idempotency-Key") ?? ""
        let isNew = lock.withLock { seen.insert(key).inserted }
        if isNew, key.hasPrefix("\(Life.number)-") { throw PulseError.noConnection }
        return try await wire.send(request)
    }
}

struct PutNumber: Endpoint {
    typealias Response = EmptyResponse

    let number: Int
    let line: Int
    let isLarge: Bool

    var path: String { "/numbers/\(number)" }
    var method: HTTPMethod { .post }
    var size: Int { isLarge ? 70_000 : 40 }
    var body: RequestBody { .data(Data(repeating: 65, count: size)) }
    var isQueueableWhenOffline: Bool { true }
    var options: RequestOptions {
        RequestOptions().with(\.tag, value: "line \(line)")
            .with(\.idempotencyKey, value: .value("\(Life.number)-\(number)"))
            .with(\.headers, value: ["X-Line": "\(line)", "X-Size": "\(size)"])
    }
}

let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server)
        .with(\.retryPolicy, value: .never)
        .with(\.connectivity, value: .manual())
        .with(
            \.offlineQueuePolicy,
            value: OfflineQueuePolicy(maxQueueSize: 100_000, directory: URL(fileURLWithPath: arguments[1]))),
    transport: Airplane())

/// Every other life starts its countdown only once it has queued a call, however busy the machine is.
let firstTold = DispatchSemaphore(value: life.isMultiple(of: 2) ? 1 : 0)

Thread.detachNewThread {
    firstTold.wait()
    usleep(lifetime)
    kill(getpid(), SIGKILL)
}

await withTaskGroup(of: Void.self) { group in
    for line in firstLine..<firstLine + 3 {
        group.addTask {
            let random = SeededRandomness(seed: seed &+ UInt64(line))
            for step in 0... {
                let number = life * 100_000 + line * 10_000 + step
                do {
                    let call = PutNumber(number: number, line: line, isLarge: random.next() % 16 == 0)
                    // Some calls are queued explicitly, the others because there is no connection.
                    if random.next() % 4 == 0 { throw PulseError.queuedOffline(id: try await client.enqueue(call)) }
                    _ = try await client.request(call)
                } catch PulseError.queuedOffline(let id) {
                    FileHandle.standardOutput.write(Data("\(line) \(number) \(id)\n".utf8))
                    firstTold.signal()
                } catch {
                    FileHandle.standardOutput.write(Data("error \(error)\n".utf8))
                    exit(70)
                }
            }
        }
    }
    group.addTask {
        while true { _ = try? await client.offlineQueue?.drain() }
    }
}
