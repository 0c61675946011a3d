// SPDX-License-Identifier: MIT

import PulseKit

// Usage: sockets-probe URL
// Echoes the messages of each case of Autobahn's fuzzing server at that URL, has it write its reports, and prints the
// number of cases. The server judges what it receives; exits with code 1 if a socket does not open.

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// A path of the fuzzing server: a command, or a case.
struct FuzzingServer: SocketEndpoint {
    var path: String
    var queryParameters: [String: String] = [:]
    let pingInterval: TimeInterval = 0
    // The largest messages of the suite have 16 MiB.
    let socketOptions = SocketOptions(reconnect: .never, maxMessageSize: 16 << 20, compression: .offered)
}

/// Sends each message back, until the connection has ended.
func echo(_ endpoint: FuzzingServer, _ client: PulseClient) async throws {
    let socket = PulseSocket(endpoint: endpoint, client: client)
    try await socket.connect()
    for await message in socket.messages {
        do {
            try await socket.send(message)
        } catch {
            // The connection is over, as many cases want it.
            break
        }
    }
    await socket.close()
}

func caseCount(_ client: PulseClient) async throws -> Int {
    let socket = PulseSocket(endpoint: FuzzingServer(path: "/getCaseCount"), client: client)
    try await socket.connect()
    let message = try await socket.receive()
    await socket.close()
    guard case .text(let text) = message, let count = Int(text) else {
        throw Failure(description: "no number of cases: \(message)")
    }
    return count
}

func play(_ url: URL) async throws {
    // The server completes the handshake of the last request after it has written its reports.
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: url).with(\.proxy, value: .direct)
            .with(\.retryPolicy, value: .never).with(\.timeout, value: 300))
    let count = try await caseCount(client)
    for number in 0..<count {
        try await echo(
            FuzzingServer(path: "/runCase", queryParameters: ["case": "\(number + 1)", "agent": "PulseKit"]), client)
    }
    try await echo(FuzzingServer(path: "/updateReports", queryParameters: ["agent": "PulseKit"]), client)
    await client.shutdown()
    print("cases: \(count)")
}

guard let url = CommandLine.arguments.dropFirst().first.flatMap({ URL(string: $0) }) else { exit(2) }
do {
    try await play(url)
} catch {
    FileHandle.standardError.write(Data("sockets-probe: \(error)\n".utf8))
    exit(1)
}
