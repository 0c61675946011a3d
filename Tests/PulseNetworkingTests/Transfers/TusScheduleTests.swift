// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// Resumable uploads to servers whose responses are wrong at random, over as many calls as it takes. A hundredth of
/// `PULSE_STEPS` files.
@Suite(.tags(.schedule), .throttled)
struct TusScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    private static let heads: [MockServer.Response] = [
        .status(200), .status(200, headers: ["Upload-Offset": "9999999"]),
        .status(200, headers: ["Upload-Offset": "0"]),
        .status(200, headers: ["Upload-Offset": "500000"]), .status(200, headers: ["Upload-Offset": "-1"]),
        .status(400), .status(403), .status(404), .status(410), .status(423), .status(503), .raw([.reset]),
    ]
    private static let parts: [MockServer.Response] = [
        .status(204), .status(204, headers: ["Upload-Offset": "x"]), .status(400), .status(404), .status(409),
        .status(423), .status(503), .raw([.reset]),
    ]
    private static let creations: [MockServer.Response] = [.status(201), .status(400), .status(503), .raw([.reset])]

    @Test func noServerKeepsAFileFromItsEnd() async throws {
        for seed in 0..<UInt64(max(1, Self.steps / 100)) { try await Self.run(seed) }
    }

    /// Each call that fails takes a fault, so that one more than there are faults is the last.
    private static func run(_ seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            let faults = 1 + below(8)
            for _ in 0..<faults {
                switch below(5) {
                case 0...1: uploads.dropping(after: below(1 << 20))
                case 2: uploads.answering(.head, with: heads[below(heads.count)])
                case 3: uploads.answering(.patch, with: parts[below(parts.count)])
                default: uploads.answering(.post, with: creations[below(creations.count)])
                }
            }
            let plugin = dishonoring { [random] in Int(random.next() % 6) }
            try await TusFixture.withFile { file, data, resumption in
                var calls = 0
                var isDone = false
                while !isDone, calls <= faults {
                    calls += 1
                    let client = TusFixture.client(server, plugins: [plugin])
                    do {
                        _ = try await client.upload(TusFixture.Put(file), resuming: resumption)
                        isDone = true
                    } catch {
                        #expect(error is PulseError, "seed \(seed)")
                    }
                    await client.shutdown()
                }
                #expect(isDone, "seed \(seed): \(faults) faults, \(TusFixture.methods(server))")
                #expect(uploads.uploads.contains { $0.data == data }, "seed \(seed)")
                #expect(uploads.uploads.allSatisfy { data.starts(with: $0.data) }, "seed \(seed)")
                #expect(TusFixture.names(resumption) == [], "seed \(seed)")
            }
        }
    }

    /// Some uploads are not honored: each `HEAD` for them gets the same unusable response.
    private static func dishonoring(_ random: @escaping @Sendable () -> Int) -> ClosurePlugin {
        let kinds = Locked<[URL: Int]>([:])
        return ClosurePlugin { request, _, next in
            guard request.httpMethod == "HEAD", let url = request.url else { return try await next(request) }
            let kind = kinds.withLock { kinds in
                let kind = kinds[url] ?? random()
                kinds[url] = kind
                return kind
            }
            let (status, headers): (Int, HTTPHeaders)
            switch kind {
            case 0: (status, headers) = (400, [:])
            case 1: (status, headers) = (200, [:])
            case 2: (status, headers) = (200, ["Upload-Offset": "9999999"])
            default: return try await next(request)
            }
            return PulseResponse(statusCode: status, headers: headers, data: Data(), request: request)
        }
    }
}
