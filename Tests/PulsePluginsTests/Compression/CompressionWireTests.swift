// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// An independent implementation decodes what the plugin has encoded.
@Suite(.tags(.threads), .throttled)
struct CompressionWireTests {
    @Test func compressedBodiesDecodeToTheOriginal() async throws {
        try await GzipEcho.run([.compression(minimumLength: 1)]) { client, server in
            for values in [1, 2, 16, 250] as [UInt64] {
                for count in [1, 2, 10, 100, 1000, 65_535, 65_536, 65_537, 262_144, 262_145, 300_000] {
                    let body = GzipEcho.bytes(count, values: values, seed: UInt64(count))
                    let echoed = try await client.request(Request<Data>(.post, "/a").body(.data(body)))
                    #expect(echoed == body, "\(count) bytes of \(values) values")
                }
            }
            let coded = server.requests.filter { $0.headers["Content-Encoding"] == "gzip" }
            #expect(coded.count > 20)
            #expect(coded.allSatisfy { $0.headers["Content-Length"] == "\($0.body.count)" })
        }
    }

    @Test func compressedFilesAndStreamsDecodeToTheOriginal() async throws {
        let bytes = GzipEcho.bytes(1_500_000, values: 20)
        let file = try TemporaryFile(bytes)
        try await GzipEcho.run([.compression(includesStreams: true)]) { client, server in
            let stream = RequestBody.stream {
                ByteStream(
                    stride(from: 0, to: bytes.count, by: 100_000).map { bytes[$0..<min($0 + 100_000, bytes.count)] })
            }
            for body in [RequestBody.file(file.url), stream, .stream { ByteStream([]) }] {
                let isEmpty = server.requests.count == 2
                let echoed = try await client.request(Request<Data>(.put, "/a").body(body))
                #expect(echoed == (isEmpty ? Data() : bytes))
            }
            #expect(server.requests.allSatisfy { $0.headers["Content-Encoding"] == "gzip" })
            #expect(server.requests[0].headers["Content-Length"] == "\(server.requests[0].body.count)")
            #expect(server.requests[1].headers["Transfer-Encoding"] == "chunked")
        }
    }

    @Test func aRetrySendsTheSameFileAgain() async throws {
        let bytes = GzipEcho.bytes(300_000, values: 20)
        let file = try TemporaryFile(bytes)
        try await ClientStage.run(plugins: [.compression()], retry: .immediate()) { client, server in
            server.on(.put, "/flaky", script: [.status(503), .status(503), .status(200)])
            _ = try await client.rawRequest(Request<Data>(.put, "/flaky").body(.file(file.url)))
            #expect(Set(server.requests.map(\.body)).count == 1)
            #expect(server.requests.count == 3)
        }
    }

    @Test func cancellingACallEndsItAndLeavesNoFile() async throws {
        let file = try TemporaryFile(GzipEcho.bytes(300_000, values: 20))
        try await MockServer.run { server in
            server.on(.put, "/slow") { _ in .raw([.stall]) }
            let opened = Locked<URL?>(nil)
            let client = ClientStage.client(
                of: server, plugins: [.compression(), Probe(opened: opened)], retry: .default)
            let call = Task { try await client.rawRequest(Request<Data>(.put, "/slow").body(.file(file.url))) }
            try await server.requests(atLeast: 1)
            call.cancel()
            await #expect(throws: PulseError.self) { try await call.value }
            let url = try #require(opened.withLock { $0 })
            #expect(!FileManager.default.fileExists(atPath: url.path))
            await client.shutdown()
        }
    }

    private struct Probe: PulsePlugin {
        let identifier = "test.probe"
        let opened: Locked<URL?>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            if case .file(let url) = context.body { opened.withLock { $0 = url } }
        }
    }
}
