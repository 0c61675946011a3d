// SPDX-License-Identifier: MIT

import PulseKit

// Usage: wire-probe URL [AUTHORITIES] Gets the URL, trusting the authorities in that file or else the system's, by the
// proxy of the environment, and writes the outcome as JSON.
//
// Usage: wire-probe --silent-resolver
// See SilentResolver.
//
// Usage: wire-probe --lost-network DIRECTORY timeout|cancel
// See LostNetwork.

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "--silent-resolver" {
    FileHandle.standardOutput.write(try JSONEncoder().encode(try await SilentResolver.play()))
    exit(0)
}
if arguments.first == "--lost-network", let directory = arguments.dropFirst().first {
    let outcomes = try await LostNetwork.play(certificates: directory, cancels: arguments.last == "cancel")
    FileHandle.standardOutput.write(try JSONEncoder().encode(outcomes))
    exit(0)
}
guard let url = arguments.first.flatMap({ URL(string: $0) }) else { exit(2) }
var request = TransportRequest(urlRequest: URLRequest(url: url))
if let path = arguments.dropFirst().first {
    request.tls.certificateAuthorities = [try Data(contentsOf: URL(fileURLWithPath: path))]
}
let transport = SocketTransport()
var outcome: [String: String] = [:]
do {
    let response = try await transport.send(request)
    outcome = ["status": "\(response.statusCode)", "body": String(decoding: response.data, as: UTF8.self)]
} catch let error as TransportFailure {
    outcome = ["code": "\(error.code.rawValue)", "phase": "\(error.phase)"]
} catch {
    outcome = ["error": "\(error)"]
}
await transport.shutdown()
FileHandle.standardOutput.write(try JSONEncoder().encode(outcome))
