// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Downloads from servers that others wrote.
@Suite(.servers, .serialized, .timeLimit(.minutes(5)))
struct TransferTests {
    struct Place: Sendable, CustomTestStringConvertible {
        let server: String
        let path: String
        /// Whether it sends parts.
        var hasRanges = true
        /// Whether it names the content, so that parts of it may be asked for.
        var hasValidators = true

        var testDescription: String { "\(server)\(path)" }

        static let all =
            ["plain", "tls"].flatMap {
                [
                    Place(server: $0, path: "/files/film"), Place(server: $0, path: "/slow/film"),
                    Place(server: $0, path: "/unranged/film", hasRanges: false),
                    Place(server: $0, path: "/unnamed/film", hasValidators: false),
                ]
            } + [
                Place(server: "apache", path: "/film"), Place(server: "python", path: "/film", hasRanges: false),
            ]
    }

    /// Runs `body` with a client, the bytes that the servers have, and a target in a directory of its own.
    private static func withTarget(
        _ server: String, _ body: (PulseClient, Data, URL) async throws -> Void
    ) async throws {
        let content = try #require(FileManager.default.contents(atPath: LocalServers.directory + "/files/film"))
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await LocalServers.withClient(of: server, isSecure: server == "tls", "") { client in
            try await body(client, content, directory.appendingPathComponent("film"))
        }
    }

    private static func expect(
        _ target: URL, holds data: Data, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let directory = target.deletingLastPathComponent().path
        #expect(FileManager.default.contents(atPath: target.path) == data, sourceLocation: location)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory) == [target.lastPathComponent],
            sourceLocation: location)
    }

    /// Ends each response after that many bytes, with that error.
    private struct Interruption: PulsePlugin {
        let identifier = "test.interruption"
        let count: Int
        let error: PulseError

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            var response = try await next(request)
            guard let bytes = response.bytes else { return response }
            let limited = Limited(bytes, count)
            response.body = .stream(
                ByteStream(
                    next: {
                        guard await limited.hasRest else { throw error }
                        return try await limited.next()
                    }, cancel: { bytes.cancel() }))
            return response
        }

        /// The first bytes of a stream.
        private actor Limited {
            private var bytes: ByteStream.Iterator
            private var rest: Int

            init(_ bytes: ByteStream, _ count: Int) {
                self.bytes = bytes.makeAsyncIterator()
                rest = count
            }

            var hasRest: Bool { rest > 0 }

            func next() async throws -> Data? {
                var bytes = bytes
                let chunk = try await bytes.next()?.prefix(rest)
                self.bytes = bytes
                rest -= chunk?.count ?? 0
                return chunk
            }
        }
    }

    /// Runs a download that ends with an error after three megabytes, and returns the number of bytes that it has kept.
    private static func interrupt(_ server: String, _ path: String, to target: URL) async throws -> Int {
        let plugin = Interruption(count: 3_000_000, error: .responseTooLarge(limit: 3_000_000))
        try await LocalServers.withClient(of: server, isSecure: server == "tls", "", plugins: [plugin]) { client in
            let error = await #expect(throws: PulseError.self) {
                try await client.download(path, to: target)
            }
            #expect(error?.kind == .responseTooLarge)
        }
        let partial = target.deletingLastPathComponent().appendingPathComponent(".film.part").path
        return (try? FileManager.default.attributesOfItem(atPath: partial)[.size] as? Int) ?? 0
    }

    private static func lastProgress<Value>(_ updates: PulseClient.TransferUpdates<Value>) async throws
        -> TransferProgress?
    {
        var last: TransferProgress?
        for try await case .progress(let progress) in updates { last = progress }
        return last
    }

    @Test(arguments: Place.all)
    func aDownloadIsWhole(place: Place) async throws {
        try await Self.withTarget(place.server) { client, content, target in
            let response = try await client.download(place.path, to: target)
            #expect(response.statusCode == 200)
            try Self.expect(target, holds: content)
        }
    }

    @Test(arguments: Place.all)
    func aLaterDownloadGoesOn(place: Place) async throws {
        try await Self.withTarget(place.server) { client, content, target in
            let kept = try await Self.interrupt(place.server, place.path, to: target)
            #expect(kept == (place.hasValidators ? 3_000_000 : 0))
            let response = try await client.download(place.path, to: target)
            let goesOn = place.hasRanges && place.hasValidators
            #expect(response.statusCode == (goesOn ? 206 : 200))
            if goesOn { #expect(response.headers["Content-Range"]?.hasPrefix("bytes \(kept)-") == true) }
            try Self.expect(target, holds: content)
        }
    }

    /// Each connection is lost after four megabytes, of sixteen.
    @Test(arguments: Place.all.filter { $0.hasRanges && $0.hasValidators })
    func aDownloadGoesOnAfterEachLoss(place: Place) async throws {
        let lost = PulseError.transport(.networkConnectionLost, underlying: URLError(.networkConnectionLost))
        let plugin = Interruption(count: 4_000_000, error: lost)
        let isSecure = place.server == "tls"
        try await LocalServers.withClient(of: place.server, isSecure: isSecure, "", plugins: [plugin]) { client in
            try await Self.withTarget(place.server) { _, content, target in
                let response = try await client.download(place.path, to: target)
                #expect(response.headers["Content-Range"] == "bytes 16000000-16777215/16777216")
                try Self.expect(target, holds: content)
            }
        }
    }

    @Test(arguments: ["plain", "tls", "apache"])
    func aFileThatWasReplacedComesWhole(server: String) async throws {
        let file = URL(fileURLWithPath: LocalServers.directory + "/files/replaced")
        let (old, new) = (Data(repeating: 1, count: 8 << 20), Data(repeating: 2, count: 8 << 20))
        try old.write(to: file)
        let hourAgo = Date(timeIntervalSinceNow: -3600)
        try FileManager.default.setAttributes([.modificationDate: hourAgo], ofItemAtPath: file.path)
        try await Self.withTarget(server) { client, _, target in
            let path = server == "apache" ? "/replaced" : "/files/replaced"
            #expect(try await Self.interrupt(server, path, to: target) == 3_000_000)
            try new.write(to: file)
            let response = try await client.download(path, to: target)
            #expect(response.statusCode == 200)
            try Self.expect(target, holds: new)
        }
    }

    @Test(arguments: [
        ("plain", "/coded/text"), ("tls", "/coded/text"), ("plain", "/compressible/text"),
        ("tls", "/compressible/text"), ("apache", "/text"),
    ])
    func aCompressedFileComesDecoded(server: String, path: String) async throws {
        try await Self.withTarget(server) { client, _, target in
            let last = try await Self.lastProgress(client.downloading(path, to: target))
            let text = try #require(FileManager.default.contents(atPath: LocalServers.directory + "/files/text"))
            try Self.expect(target, holds: text)
            #expect(last?.completed == Int64(text.count))
        }
    }

    @Test(arguments: ["plain", "tls"])
    func anErrorPageIsNeverStored(server: String) async throws {
        try await Self.withTarget(server) { client, _, target in
            try Data("old".utf8).write(to: target)
            let error = await #expect(throws: PulseError.self) {
                try await client.download("/files/missing", to: target)
            }
            #expect(error?.statusCode == 404)
            try Self.expect(target, holds: Data("old".utf8))
        }
    }

    // MARK: Uploads

    @Test(arguments: ["plain", "tls"])
    func anUploadArrivesWhole(server: String) async throws {
        try await Self.withTarget(server) { client, content, _ in
            let film = URL(fileURLWithPath: LocalServers.directory + "/files/film")
            let upload = Request<EmptyResponse>(.put, "/up/\(server)").body(.file(film))
            let last = try await Self.lastProgress(client.uploading(upload))
            #expect(FileManager.default.contents(atPath: LocalServers.directory + "/up/\(server)") == content)
            #expect(last?.completed == Int64(content.count) && last?.total == last?.completed)
        }
    }

    private struct Session: TokenProvider {
        func accessToken() async -> String? { "old" }
        func refreshToken() async throws -> String { "new" }
        func handleAuthenticationFailure() async {}
    }

    #if os(Linux)
    /// It is sent again after a 401 and a 307, from the file each time.
    @Test(arguments: ["plain", "tls"])
    func anUploadOfOneGiBTakesLittleMemory(server: String) async throws {
        let size = 1 << 30
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let target = LocalServers.directory + "/up/big-\(server)"
        defer {
            try? FileManager.default.removeItem(at: directory)
            try? FileManager.default.removeItem(atPath: target)
        }
        let file = directory.appendingPathComponent("big")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        #expect(truncate(file.path, size) == 0)
        let isSecure = server == "tls"
        try await LocalServers.withClient(of: server, isSecure: isSecure, "", plugins: [.auth(Session())]) { client in
            let upload = Request<EmptyResponse>(.put, "/guarded/big-\(server)").body(.file(file))
            let (last, rise) = try await Memory.rise { try await Self.lastProgress(client.uploading(upload)) }
            #expect(rise <= 30 << 20)
            #expect(last?.completed == Int64(size) && last?.attempt == 3)
        }
        let stored = try FileManager.default.attributesOfItem(atPath: target)[.size] as? Int
        #expect(stored == size)
    }
    #endif

    /// The server is killed while the bytes come, and another one takes its place.
    @Test func anUploadOutlivesItsServer() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let content = Data((0..<64).flatMap { Data(repeating: $0, count: 1 << 20) })
        let file = directory.appendingPathComponent("video")
        try content.write(to: file)
        try await LocalServers.withClient(of: "tus", isSecure: false, "/") { client in
            let upload = Request<EmptyResponse>(.post, "/files/").body(.file(file))
            let resumption = UploadResumption(directory: directory, metadata: ["filename": "video"])
            var kills = 0
            for try await update in client.uploading(upload, resuming: resumption) {
                guard case .progress(let progress) = update, progress.completed > 1 << 20, kills < 2 else { continue }
                let pid = try String(contentsOfFile: LocalServers.directory + "/tus.pid", encoding: .utf8)
                kill(try #require(pid_t(pid)), SIGKILL)
                kills += 1
            }
            #expect(kills > 0)
        }
        let uploads = URL(fileURLWithPath: LocalServers.directory + "/tus")
        let stored = FileManager.default.enumerator(atPath: uploads.path)?.compactMap { $0 as? String } ?? []
        let isStored = stored.contains { name in
            FileManager.default.contents(atPath: uploads.appendingPathComponent(name).path) == content
        }
        #expect(isStored, "\(stored)")
    }
}
