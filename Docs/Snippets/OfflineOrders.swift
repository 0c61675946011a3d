// SPDX-License-Identifier: MIT
//! Calls that wait for a connection: how to queue, send and manage them.

import PulseKit
import PulseTesting

// snippet.endpoint
struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let text: String

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .json(["text": text]) }
    let isQueueableWhenOffline = true
    var options: RequestOptions { .init().with(\.tag, value: "notes") }
}
// snippet.end

let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
let hasConnection = Switch()
let transport = MockTransport { request in
    guard hasConnection.isOn else { throw PulseError.noConnection }
    return PulseResponse(statusCode: 201, request: request)
}
let baseURL = URL(string: "https://api.example.com")!

// snippet.client
let configuration = PulseConfiguration(baseURL: baseURL)
    .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(maxQueueSize: 500, directory: directory))
let client = PulseClient(configuration: configuration, transport: transport)
// snippet.end

var waiting: UUID?
// snippet.call
do {
    try await client.request(SaveNote(text: "Buy tea"))
    print("saved")
} catch PulseError.queuedOffline(let id) {
    print("saved here, sent later")
    waiting = id
}
// snippet.end

guard let queue = client.offlineQueue, let id = waiting else { exit(1) }

// snippet.queues
let patient = OfflineQueuePolicy(
    directory: directory, queuedFailures: [.noConnection, .cannotConnect, .timeoutBeforeSending])
// snippet.end
// snippet.enqueue
let later = try await client.enqueue(SaveNote(text: "Water the plants"))
// snippet.end
print(patient.queuedFailures.contains(.cannotConnect), later)

// snippet.manage
for entry in try await queue.pending() {
    print(entry.method, entry.url.path, entry.enqueuedAt, entry.attempts)
}
try await queue.update(id: id) { entry in
    entry.body = Data(#"{"text": "Buy green tea"}"#.utf8)
}
// snippet.end

hasConnection.turnOn()

// snippet.drain
let left = try await queue.drain()
print(left, "still wait")
// snippet.end

// snippet.result
let response = try await queue.result(of: id)
print(response.statusCode)
// snippet.end

// snippet.letters
for letter in try await queue.deadLetters() {
    print(letter.request, letter.reason)
    try await queue.retryDeadLetter(id: letter.id)  // or: remove(id:)
}
// snippet.end

// snippet.logout
try await queue.removeAll(account: "ada")  // for a token provider with accounts
try await queue.removeAll()  // for one without accounts
// snippet.end

await client.shutdown()
try FileManager.default.removeItem(at: directory)

/// A network for one process.
final class Switch: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false

    var isOn: Bool { lock.withLock { value } }
    func turnOn() { lock.withLock { value = true } }
}
