// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseTesting

extension MockServer {
    /// Runs `body` with a server, in cleartext or over TLS, and with the settings that trust it.
    public static func run<Value>(
        over isSecure: Bool, _ body: (MockServer, TLSSettings) async throws -> Value
    ) async throws -> Value {
        guard isSecure else { return try await run { try await body($0, .default) } }
        let identity = try TLSIdentity.generated()
        return try await run(Configuration(tls: identity)) { try await body($0, identity.clientSettings) }
    }
}
