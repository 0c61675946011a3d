// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport

/// What the tests of resumable uploads share.
enum TusFixture {
    struct Put: Endpoint {
        typealias Response = EmptyResponse
        var body: RequestBody
        let path = "/up"
        let method = HTTPMethod.put
        var headers: [String: String] = [:]
        var options = RequestOptions()

        init(_ file: URL) { body = .file(file) }
    }

    private static let data = (0..<1 << 12).reduce(into: Data()) { $0 += Data(repeating: UInt8($1 & 0xFF), count: 256) }

    /// A file of a megabyte, and settings with a directory that is not there yet.
    static func withFile(_ body: (URL, Data, UploadResumption) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("video.mp4")
        try data.write(to: file)
        let records = directory.appendingPathComponent("a/b")
        try await body(
            file, data, UploadResumption(directory: records, metadata: ["filename": "vidéo.mp4", "empty": ""]))
    }

    static func client(
        _ server: MockServer, plugins: [any PulsePlugin] = [], clock: TestClock = TestClock(autoAdvances: true),
        retry: RetryPolicy = .default, events: PulseEventBus = PulseEventBus()
    ) -> PulseClient {
        ClientStage.client(of: server, plugins: plugins, retry: retry, clock: clock, events: events)
    }

    static func names(_ resumption: UploadResumption) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: resumption.directory.path)) ?? []
    }

    static func methods(_ server: MockServer) -> [String] { server.requests.map { $0.method.rawValue } }

    /// Fails each `HEAD`, so that an upload ends after its first loss.
    static let noHEAD = ClosurePlugin { request, _, next in
        if request.httpMethod == "HEAD" { throw PulseError.noConnection }
        return try await next(request)
    }
}
