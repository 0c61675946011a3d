// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import Testing

/// Transfers by a background session of the system, while the process runs. None of them survives it: the tests would
/// have to be an app.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct BackgroundTransfersTests {
    @Test func aDownloadIsHandedOverAndComesToItsFile() async throws {
        try await Self.run { server, client, transfers, directory in
            server.fallback { _ in .text("a film") }
            let downloads = Downloads(
                directory: directory.appendingPathComponent("list"), client: client, background: transfers)
            let target = directory.appendingPathComponent("film")
            let download = try await downloads.add("/film", to: target)
            let file = try await download.file()
            await downloads.shutdown()
            #expect(file == target)
            #expect(try Data(contentsOf: file) == Data("a film".utf8))
            #expect(server.requests.map(\.target) == ["/film"])
        }
    }

    @Test func anUploadIsHandedOverAndItsResponseComesBack() async throws {
        try await Self.run { server, client, transfers, directory in
            server.fallback { _ in .text("stored", status: 201) }
            let file = directory.appendingPathComponent("video")
            try Data("a video".utf8).write(to: file)
            let request = Request<String>(.post, "/videos").body(.file(file))
            #expect(try await client.upload(request, in: transfers) == "stored")
            #expect(server.requests.map(\.body) == [Data("a video".utf8)])
        }
    }

    private static func run(
        _ body: (MockServer, PulseClient, BackgroundTransfers, URL) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await MockServer.run { server in
            let client = PulseClient(
                configuration: PulseConfiguration(baseURL: server.baseURL).with(\.retryPolicy, value: .none),
                transport: URLSessionTransport(), events: PulseEventBus())
            // A session lasts as long as the process.
            let transfers = BackgroundTransfers(
                identifier: "PulseKit.AppleTests.\(UUID().uuidString)",
                directory: directory.appendingPathComponent("transfers"))
            do {
                try await body(server, client, transfers, directory)
                await client.shutdown()
            } catch {
                await client.shutdown()
                throw error
            }
        }
    }
}
