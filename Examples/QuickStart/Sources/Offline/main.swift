// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

struct SaveNote: Endpoint {
    typealias Response = EmptyResponse

    let text: String

    let path = "/notes"
    let method = HTTPMethod.post
    var body: RequestBody { .json(["text": text]) }
    let isQueueableWhenOffline = true
}

// An app leaves out these three: the system reports the network, and the queue has a place of its own.
let network = ManualConnectivityMonitor(.unsatisfied)
let transport = MockTransport { request in
    guard network.current.path == .satisfied else { throw PulseError.noConnection }
    return PulseResponse(statusCode: 201, request: request)
}
let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

let client = PulseClient(
    configuration: PulseConfiguration(baseURL: "https://api.example.com")
        .with(\.connectivity, value: network)
        .with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory)),
    transport: transport)

do {
    try await client.request(SaveNote(text: "Buy tea"))
} catch PulseError.queuedOffline(let id) {
    print("saved on disk")
    network.set(.satisfied)
    let response = try await client.offlineQueue?.result(of: id)
    print("sent, status \(response?.statusCode ?? 0)")
}
await client.shutdown()
try FileManager.default.removeItem(at: directory)
