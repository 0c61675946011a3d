// SPDX-License-Identifier: MIT

import PulseKit

// Usage: offline-probe, in the network that `namespace` makes. Changes links and routes, and exits with code 1 if the
// monitor or the queue misbehaves.

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Its sleeps never end, so only the monitor wakes the queue.
struct StillClock: PulseClock {
    var now: Date { SystemClock().now }
    var uptime: TimeInterval { SystemClock().uptime }

    func sleep(_ seconds: TimeInterval) async throws {
        if seconds > 0 { try await SystemClock().sleep(.infinity) }
    }
}

/// - Parameter isFar: at the other end of the link.
func ip(_ arguments: String, isFar: Bool = false) throws {
    var words = ["ip"] + arguments.split(separator: " ").map(String.init)
    if isFar {
        guard let end = ProcessInfo.processInfo.environment["FAR_END"] else {
            throw Failure(description: "FAR_END is not set")
        }
        words = ["nsenter", "-t", end, "-n"] + words
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(description: "ip \(arguments) failed") }
}

struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .text("from below") }
    let isQueueableWhenOffline = true
}

/// Makes the change and waits for that status.
func wait(for path: ConnectivityStatus.Path, after change: String, isFar: Bool = false) async throws {
    let start = SystemClock().uptime
    if !change.isEmpty { try ip(change, isFar: isFar) }
    let late = Task {
        try await SystemClock().sleep(60)
        FileHandle.standardError.write(Data("the monitor did not say \(path)\n".utf8))
        exit(1)
    }
    for await status in SystemConnectivityMonitor.shared.updates where status.path == path { break }
    late.cancel()
    print(
        "monitor: \(path) \(Int((SystemClock().uptime - start) * 1000)) ms after: \(change.isEmpty ? "nothing" : change)"
    )
}

/// Makes a call that is queued; returns its id.
func queued(_ client: PulseClient) async throws -> UUID {
    do {
        _ = try await client.request(SaveNote())
    } catch PulseError.queuedOffline(let id) {
        return id
    }
    throw Failure(description: "a call without a route was not queued")
}

/// Makes the change and waits for the response to that entry; returns the seconds.
func drain(
    _ client: PulseClient, _ id: UUID, after change: String, isFar: Bool = false
) async throws -> TimeInterval {
    let start = SystemClock().uptime
    try ip(change, isFar: isFar)
    let response = try await client.offlineQueue?.result(of: id)
    let seconds = SystemClock().uptime - start
    print("queue: \(response?.statusCode ?? 0) \(Int(seconds * 1000)) ms after: \(change)")
    guard response?.statusCode == 201 else { throw Failure(description: "the queue did not send") }
    return seconds
}

func play() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("offline-probe-\(UUID().uuidString)")
    let client = PulseClient(
        configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "http://203.0.113.5:8080"))
            .with(\.retryPolicy, value: .never).with(\.clock, value: StillClock())
            .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory)))

    try await wait(for: .unsatisfied, after: "")
    var quickest = TimeInterval.infinity
    for round in 1...5 {
        let id = try await queued(client)
        // By then its drainer has usually found no route either, and is idle.
        try await SystemClock().sleep(0.5)
        quickest = min(quickest, try await drain(client, id, after: "route add default via 10.99.0.2"))
        try await wait(for: .satisfied, after: "")
        if round % 2 == 0 {
            try await wait(for: .unsatisfied, after: "route del default")
        } else {
            try await wait(for: .unsatisfied, after: "link set outer down")
            try ip("link set outer up")
        }
    }
    try ip("route add default via 10.99.0.2")
    try await wait(for: .satisfied, after: "")
    // A link without a carrier stays up and keeps its routes.
    try await wait(for: .unsatisfied, after: "link set inner down", isFar: true)
    try ip("route del default")
    let id = try await queued(client)
    try await SystemClock().sleep(0.5)
    try ip("route add default via 10.99.0.2")
    quickest = min(quickest, try await drain(client, id, after: "link set inner up", isFar: true))
    // Not each of them: the machine may be busy.
    guard quickest < 1 else { throw Failure(description: "the queue was late each time") }
    try await wait(for: .satisfied, after: "")
    try await wait(for: .unsatisfied, after: "link set outer down")
    await client.shutdown()
    try FileManager.default.removeItem(at: directory)
}

do {
    try await play()
} catch {
    print("failed: \(error)")
    exit(1)
}
