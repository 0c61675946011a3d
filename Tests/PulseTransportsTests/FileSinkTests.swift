// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct FileSinkTests {
    private static func run(_ old: String?, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("sink-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        if let old { try Data(old.utf8).write(to: file) }
        try await body(file)
    }

    private static func text(_ file: URL) throws -> String {
        String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    @Test(arguments: [(0, "new"), (2, "olnew"), (3, "oldnew")])
    func aBodyIsWrittenAtItsOffsetAndEndsTheFile(offset: Int64, expected: String) async throws {
        try await Self.run("old") { file in
            try await FileSink(file, offset: offset).take(ByteStream([Data("new".utf8)]), total: nil, nil)
            #expect(try Self.text(file) == expected)
        }
    }

    /// The gap would be filled with zeros that were never fetched.
    @Test func aFileThatEndsBeforeTheOffsetIsRejectedAndLeftUnchanged() async throws {
        try await Self.run("old") { file in
            let failure = await #expect(throws: TransportFailure.self) { _ = try await FileSink(file, offset: 4) }
            #expect(failure?.code == .cannotWriteToFile)
            let text = try Self.text(file)
            #expect(text == "old")
        }
    }

    /// The server chooses the length.
    @Test func aTotalBeyondSixtyFourBitsIsUnknown() async throws {
        try await Self.run("old") { file in
            let told = Locked<[TransferProgress]>([])
            let sink = try await FileSink(file, offset: 3)
            try await sink.take(ByteStream([Data("new".utf8)]), total: .max) { done in
                told.withLock { $0.append(done) }
            }
            #expect(told.withLock { $0 } == [TransferProgress(completed: 6, total: nil)])
        }
    }

    @Test(
        arguments: [
            (4, 10, 3, 7, 13), (4, nil, 3, 7, nil), (4, Int64.max, 0, 4, Int64.max),
            (4, Int64.max - 3, 3, 7, Int64.max), (4, Int64.max - 2, 3, 7, nil),
            (Int64.max, Int64.max, 1, Int64.max, nil),
        ] as [(Int64, Int64?, Int64, Int64, Int64?)])
    func progressIncludesTheExistingBytes(
        completed: Int64, total: Int64?, offset: Int64, sum: Int64, sumOfAll: Int64?
    ) {
        let progress = TransferProgress(completed: completed, total: total, behind: offset)
        #expect(progress == TransferProgress(completed: sum, total: sumOfAll))
    }

    @Test func aNewFileIsReadableOnlyByItsUser() async throws {
        try await Self.run(nil) { file in
            try await FileSink(file, offset: 0).take(ByteStream([Data("a".utf8)]), total: nil, nil)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func piecesAreWrittenInOrderAndKeptAfterAnError() async throws {
        struct Cut: Error {}
        let pieces = (0..<100).map { Data(repeating: UInt8($0), count: 10_000) }
        for isCut in [false, true] {
            try await Self.run(nil) { file in
                let rest = Locked(pieces[...])
                let stream = ByteStream(next: {
                    guard let piece = rest.withLock({ $0.popFirst() }) else {
                        if isCut { throw Cut() }
                        return nil
                    }
                    return piece
                })
                let told = Locked<[Int64]>([])
                let sink = try await FileSink(file, offset: 0)
                do {
                    try await sink.take(stream, total: 1_000_000) { done in told.withLock { $0.append(done.completed) }
                    }
                    #expect(!isCut)
                } catch {
                    #expect(isCut)
                }
                #expect(try Data(contentsOf: file) == pieces.reduce(Data(), +))
                let counts = (1...100).map { Int64($0 * 10_000) }
                #expect(told.withLock { $0 } == counts)
            }
        }
    }
}
