// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

private struct PutVideo: Endpoint {
    struct Receipt: Codable, Sendable {
        let bytes: Int
    }
    typealias Response = Receipt

    let video: URL
    let path = "/videos/1"
    let method = HTTPMethod.put
    var body: RequestBody { .file(video) }
}

extension Stage {
    /// Transfers: a download that resumes where it was interrupted, and an upload with its progress.
    func showTransfers(_ server: MockServer, _ bus: PulseEventBus) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL).with(\.retryPolicy, value: .none),
            plugins: [recorder], events: bus)
        let film = Data((0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 >> 10) })
        let target = directory.appendingPathComponent("film.bin")
        await showDownload(server, client, film, to: target)
        await showUpload(server, client, target, film.count)
        await client.shutdown()
    }

    private func showDownload(_ server: MockServer, _ client: PulseClient, _ film: Data, to target: URL) async {
        // Reset within the body, and again before the first byte of the rest.
        server.serve(
            MockServer.File(film, etag: "\"1\"").dropping(after: 3 << 20).dropping(after: 0), at: "/films/1")
        await step("A download goes on where it was lost", calls: 2) {
            let once = Download.Options().with(\.maxAttemptsWithoutProgress, value: 1)
            do {
                try await client.download("/films/1", to: target, download: once)
                throw Unexpected(description: "nothing was lost")
            } catch PulseError.transport {
                guard !FileManager.default.fileExists(atPath: target.path) else {
                    throw Unexpected(description: "half a file")
                }
            }
            let response = try await client.download("/films/1", to: target, progress: bar())
            guard response.statusCode == 206, try Data(contentsOf: target) == film else {
                throw Unexpected(description: "another file, status \(response.statusCode)")
            }
            return "\(film.count >> 20) MiB, of which \(response.headers["Content-Range"] ?? "") came last"
        }
    }

    private func showUpload(_ server: MockServer, _ client: PulseClient, _ file: URL, _ count: Int) async {
        server.on(.put, "/videos/1") { request in try .json(PutVideo.Receipt(bytes: request.bodyByteCount)) }
        await step("An upload says how far it is") {
            let receipt = try await client.upload(PutVideo(video: file), progress: bar())
            guard receipt.bytes == count else { throw Unexpected(description: "\(receipt.bytes) bytes arrived") }
            return "\(receipt.bytes >> 20) MiB, from a file"
        }
    }

    /// Prints a bar that grows if the output is a terminal, else a line for each quarter; nothing unless verbose.
    private nonisolated func bar() -> @Sendable (TransferProgress) -> Void {
        guard isVerbose else { return { _ in } }
        let isTerminal = isatty(STDOUT_FILENO) != 0
        let printed = Locked(-1)
        return { progress in
            guard let fraction = progress.fraction else { return }
            let quarter = Int(fraction * 4)
            let isNew = printed.withLock { printed in
                defer { printed = max(printed, quarter) }
                return quarter > printed
            }
            var line = ""
            if isTerminal {
                let full = Int(fraction * 30)
                let bar = String(repeating: "#", count: full) + String(repeating: " ", count: 30 - full)
                line = "\r   ·  [\(bar)]"
                if progress.completed == progress.total { line += "\n" }
            } else if isNew {
                line = "   ·  \(quarter * 25) %\n"
            }
            FileHandle.standardOutput.write(Data(line.utf8))
        }
    }
}
