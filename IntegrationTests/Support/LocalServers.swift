// SPDX-License-Identifier: MIT

import PulseKit
import Testing

/// The servers that a folder's `servers.py` has started, with their ports by name.
public enum LocalServers {
    private struct Description: Decodable {
        let directory: String
        let ports: [String: Int]
    }

    private static let description = ProcessInfo.processInfo.environment["PULSEKIT_WIRE"].map { path in
        let data = FileManager.default.contents(atPath: path) ?? Data()
        do {
            return try JSONDecoder().decode(Description.self, from: data)
        } catch {
            preconditionFailure("\(path): \(error)")
        }
    }

    /// False if the tests were not started by `run`.
    public static var areRunning: Bool { description != nil }

    /// The directory of the servers' files.
    public static var directory: String { description?.directory ?? "" }

    /// Runs `body` with a client whose base URL is that path of a server, and who trusts its certificates.
    public static func withClient<Value>(
        of name: String, isSecure: Bool, _ path: String, plugins: [any PulsePlugin] = [],
        _ body: (PulseClient) async throws -> Value
    ) async throws -> Value {
        let servers = try #require(description)
        let port = try #require(servers.ports[name])
        let url = try #require(URL(string: "\(isSecure ? "https" : "http")://localhost:\(port)\(path)"))
        let authority = try #require(FileManager.default.contents(atPath: "\(servers.directory)/root.pem"))
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: url).with(\.proxy, value: .direct)
                .with(\.tls, value: TLSSettings(certificateAuthorities: [authority])),
            plugins: plugins)
        do {
            let value = try await body(client)
            await client.shutdown()
            return value
        } catch {
            await client.shutdown()
            throw error
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs the test only if its servers run.
    public static var servers: Self { .enabled(if: LocalServers.areRunning) }
}
