// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    /// The bodies of requests.
    static let bodies: [Self] =
        carriers.map { method in
            .semantics("\(method) carries a body of bytes") { _ in
                .text("taken")
            } play: { stage in
                try await stage.expectArrival(of: .everyByte, method, body: .bytes(.everyByte))
            }
        } + [
            .semantics("an empty body is sent like any other") { _ in
                .text("taken")
            } play: { stage in
                try await stage.expectArrival(of: Data(), body: .bytes(Data()))
            },
            .semantics("a body of 1 MB arrives whole") { _ in
                .text("taken")
            } play: { stage in
                try await stage.expectArrival(of: .megabyte, body: .bytes(.megabyte))
            },
            .semantics("a file arrives whole as the body") { _ in
                .text("taken")
            } play: { stage in
                try await TemporaryFile.with(.megabyte) { file in
                    try await stage.expectArrival(of: .megabyte, .put, body: .file(file))
                }
            },
            .semantics("an empty file is an empty body") { _ in
                .text("taken")
            } play: { stage in
                try await TemporaryFile.with(Data()) { file in
                    try await stage.expectArrival(of: Data(), .put, body: .file(file))
                }
            },
            .semantics("a body goes without a Content-Type and an Expect that nobody set") { _ in
                .text("taken")
            } play: { stage in
                _ = try await stage.send(stage.request(.post, body: .bytes(.everyByte)))
                // libcurl asks first about more than 1 MiB, and about what has no length.
                let long = TransportRequest.Body.bytes(Data.megabyte + Data.everyByte)
                let unmeasured = BodyStream(length: nil) { ByteStream([.everyByte]) }
                for method in [HTTPMethod.post, .get] {
                    _ = try await stage.answerUnlessRefused(stage.request(method, body: long))
                    _ = try await stage.answerUnlessRefused(stage.request(method, body: .stream(unmeasured)))
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
        } play: { stage in
            try await TemporaryFile.with(.megabyte) { file in
                for body in [TransportRequest.Body.bytes(.megabyte), .file(file)] {
                    let steps = Locked<[TransferProgress]>([])
                    var request = try stage.request(.put, body: body)
                    request.progress = { step in steps.withLock { $0.append(step) } }
                    _ = try await stage.send(request)
                    let told = steps.withLock { $0 }
                    try Check.equal(told.map(\.completed), told.map(\.completed).sorted(), "the steps")
                    try Check.equal(told.last, TransferProgress(completed: 1 << 20, total: 1 << 20), "the last step")
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
        try Check.equal(response.text, "taken", "the answer")
        let arrived = try onlyRequest()
        try Check.equal(arrived.method, method, "the method that arrived")
        try Check.equal(arrived.headers["Content-Type"], type, "the Content-Type that arrived")
        try Check.equal(arrived.body, bytes, "the body that arrived")
    }
}

enum TemporaryFile {
    /// A file of these bytes, for as long as `body` runs.
    static func with(_ bytes: Data, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }
}

extension Data {
    // Made when they are needed: the address sanitizer does not see through the pointers of a Data that a constant
    // holds, and calls it leaked.

    /// The bytes from 0 to 255.
    static var everyByte: Data { Data(UInt8.min...UInt8.max) }
    /// 1 MB that shows a byte lost, doubled or out of place: its period divides no power of two.
    static var megabyte: Data { Data(megabyteOfBytes) }

    private static let megabyteOfBytes: [UInt8] = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 % 251) }
}

extension PulseResponse {
    var text: String { String(decoding: data, as: UTF8.self) }
}
