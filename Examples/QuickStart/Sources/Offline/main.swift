// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let text: String

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .json(["text": .string(text)]) }
    let isQueueableWhenOffline = true
}

let server = try await MockServer.start()
server.on(.post, "/notes") { _ in .status(201) }

// An app leaves out the monitor and the directory: the system reports the network, and the queue has its own place.
let network = ManualConnectivityMonitor(.unsatisfied)
let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL)
        .with(\.connectivity, value: network)
        .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory)))

do {
    _ = try await client.request(SaveNote(text: "Buy tea"))
} catch PulseError.queuedOffline(let id) {
    print("saved on disk, requests at the server: \(server.requests.count)")
    network.set(.satisfied)
    let response = try await client.offlineQueue?.result(of: id)
    print("sent, status: \(response?.statusCode ?? 0)")
}
await client.shutdown()
await server.shutdown()
try FileManager.default.removeItem(at: directory)
