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

    /// The port of a server.
    public static func port(_ name: String) throws -> Int { try #require(description?.ports[name]) }

    /// The URL of a path on a server.
    public static func url(
        of name: String, isSecure: Bool, host: String = "localhost", _ path: String
    ) throws -> URL {
        try #require(URL(string: "\(isSecure ? "https" : "http")://\(host):\(port(name))\(path)"))
    }

    /// Trust in the authority of the servers' certificates.
    public static func tls() throws -> TLSSettings {
        let authority = try #require(FileManager.default.contents(atPath: "\(directory)/root.pem"))
        return TLSSettings(certificateAuthorities: [authority])
    }

    /// Runs `body` with a client whose base URL is that path of a server, and who trusts its certificates.
    ///
    /// - Parameter adjust: changes the client's configuration.
    public static func withClient<Value>(
        of name: String, isSecure: Bool, host: String = "localhost", _ path: String, plugins: [any PulsePlugin] = [],
        adjust: (inout PulseConfiguration) throws -> Void = { _ in }, _ body: (PulseClient) async throws -> Value
    ) async throws -> Value {
        let url = try Self.url(of: name, isSecure: isSecure, host: host, path)
        var configuration = PulseConfiguration(baseURL: url).with(\.proxy, value: .direct)
        configuration.tls = try tls()
        try adjust(&configuration)
        let client = PulseClient(configuration: configuration, plugins: plugins)
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
