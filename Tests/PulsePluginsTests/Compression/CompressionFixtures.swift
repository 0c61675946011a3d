// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport

/// A server that returns each body with its content coding. The client decodes it and checks its checksum by zlib's code
/// for gzip, which the plugin does not use.
enum GzipEcho {
    static func run(
        _ plugins: [any PulsePlugin], _ body: (PulseClient, MockServer) async throws -> Void
    ) async throws {
        try await ClientStage.run(plugins: plugins, retry: .immediate()) { client, server in
            for method in [HTTPMethod.post, .put] {
                server.on(method, "/{path...}") { request in
                    let coding = request.headers["Content-Encoding"].map { ["Content-Encoding": $0] } ?? [:]
                    return .data(request.body, headers: HTTPHeaders(coding))
                }
            }
            try await body(client, server)
        }
    }

    /// Random bytes with the given number of values: with 1 they shrink to almost nothing, with 256 not at all.
    static func bytes(_ count: Int, values: UInt64, seed: UInt64 = 1) -> Data {
        let chance = SeededRandomness(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < count {
            // One random number gives eight bytes: the generator is slow under a sanitizer.
            let bits = chance.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8((bits >> shift & 0xFF) % values)) }
        }
        return Data(bytes.prefix(count))
    }
}

/// A file that is removed with the fixture.
final class TemporaryFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("test-\(UUID().uuidString)")

    init(_ data: Data) throws {
        try data.write(to: url)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
