// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let bodies: [Self] =
        carriers.map { method in
            .semantics("\(method) sends a body of bytes") { _ in
                .text("taken")
            } verify: { stage in
                try await stage.expectArrival(of: .everyByte, method, body: .bytes(.everyByte))
            }
        } + [
            .semantics("an empty body is sent like any other") { _ in
                .text("taken")
            } verify: { stage in
                try await stage.expectArrival(of: Data(), body: .bytes(Data()))
            },
            .semantics("a body of 1 MB arrives whole") { _ in
                .text("taken")
            } verify: { stage in
                try await stage.expectArrival(of: .megabyte, body: .bytes(.megabyte))
            },
            .semantics("a file is sent as the body") { _ in
                .text("taken")
            } verify: { stage in
                try await TemporaryFile.with(.megabyte) { file in
                    try await stage.expectArrival(of: .megabyte, .put, body: .file(file))
                }
            },
            .semantics("an empty file is an empty body") { _ in
                .text("taken")
            } verify: { stage in
                try await TemporaryFile.with(Data()) { file in
                    try await stage.expectArrival(of: Data(), .put, body: .file(file))
                }
            },
            .semantics("a body is sent without a Content-Type or Expect that the caller did not set") { _ in
                .text("taken")
            } verify: { stage in
                _ = try await stage.send(stage.request(.post, body: .bytes(.everyByte)))
                // Foundation's libcurl sends an Expect for more than 1 MiB, and for a body without a length.
                let long = TransportRequest.Body.bytes(Data.megabyte + Data.everyByte)
                let unmeasured = RequestBody.Stream(length: nil) { ByteStream([.everyByte]) }
                for method in [HTTPMethod.post, .get] {
                    _ = try await stage.responseIfSupported(stage.request(method, body: long))
                    _ = try await stage.responseIfSupported(stage.request(method, body: .stream(unmeasured)))
                }
                for request in stage.requests {
                    try Check.equal(request.headers["Content-Type"], nil, "the Content-Type of a \(request.method)")
                    try Check.equal(request.headers["Expect"], nil, "the Expect of a \(request.method)")
                }
            },
        ]

    static let sending: [Self] = [
        .wire("the progress of a body grows to its length") { _ in
            .text("taken")
        } verify: { stage in
            try await TemporaryFile.with(.megabyte) { file in
                for body in [TransportRequest.Body.bytes(.megabyte), .file(file)] {
                    let steps = Locked<[TransferProgress]>([])
                    var request = try stage.request(.put, body: body)
                    request.progress = { step in steps.withLock { $0.append(step) } }
                    _ = try await stage.send(request)
                    let recorded = steps.withLock { $0 }
                    try Check.equal(recorded.map(\.completed), recorded.map(\.completed).sorted(), "the steps")
                    try Check.equal(
                        recorded.last, TransferProgress(completed: 1 << 20, total: 1 << 20), "the last step")
                }
            }
            try await TemporaryFile.with(Data()) { file in
                for body in [TransportRequest.Body.bytes(Data()), .file(file)] {
                    let steps = Locked<[TransferProgress]>([])
                    var request = try stage.request(.put, body: body)
                    request.progress = { step in steps.withLock { $0.append(step) } }
                    _ = try await stage.send(request)
                    try Check.equal(
                        steps.withLock { $0 }, [TransferProgress(completed: 0, total: 0)], "the steps without bytes")
                }
            }
        }
    ]

    private static let carriers: [HTTPMethod] =
        [.post, .put, .patch, .delete, .options, .query, .get] + [HTTPMethod(rawValue: "PROPFIND")].compactMap { $0 }
}

extension ConformanceStage {
    fileprivate func expectArrival(
        of bytes: Data, _ method: HTTPMethod = .post, body: TransportRequest.Body
    ) async throws {
        let type = "application/octet-stream"
        let response = try await send(request(method, headers: ["Content-Type": type], body: body))
        try Check.equal(response.text, "taken", "the response")
        let arrived = try onlyRequest()
        try Check.equal(arrived.method, method, "the method that arrived")
        try Check.equal(arrived.headers["Content-Type"], type, "the Content-Type that arrived")
        try Check.equal(arrived.body, bytes, "the body that arrived")
    }
}

enum TemporaryFile {
    /// Runs `body` with a temporary file of these bytes.
    static func with(_ bytes: Data, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }
}

extension Data {
    // Computed, not stored: the address sanitizer does not follow the pointers of a Data in a constant, and reports it
    // as leaked.

    /// The bytes from 0 to 255.
    static var everyByte: Data { Data(UInt8.min...UInt8.max) }
    /// 1 MB that reveals a lost, duplicated or misplaced byte: its period divides no power of two.
    static var megabyte: Data { Data(megabyteOfBytes) }

    private static let megabyteOfBytes: [UInt8] = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 % 251) }
}

extension PulseResponse {
    var text: String { String(decoding: data, as: UTF8.self) }
}
