// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PulseResponseBodyTests {
    private let connection = CountedConnection()
    private let ends = Locked(0)
    private let file = URL(fileURLWithPath: "/secret/diary")

    private func response(_ body: PulseResponse.Body? = nil) throws -> PulseResponse {
        var response = PulseResponse(statusCode: 200, data: Data("abc".utf8), request: try request())
        if let body { response.body = body }
        return response
    }

    private var stream: ByteStream {
        ByteStream(next: { Data("x".utf8) }, cancel: { ends.withLock { $0 += 1 } })
    }

    @Test func everyFormHasItsConvenienceAndNoOther() throws {
        let stream = stream
        let buffered = try response()
        #expect(buffered.data == Data("abc".utf8))
        #expect(buffered.bytes == nil && buffered.file == nil && buffered.connection == nil)
        let streamed = try response(.stream(stream))
        #expect(streamed.bytes === stream)
        #expect(streamed.data.isEmpty && streamed.file == nil && streamed.connection == nil)
        let downloaded = try response(.file(file))
        #expect(downloaded.file == file)
        #expect(downloaded.data.isEmpty && downloaded.bytes == nil && downloaded.connection == nil)
        let upgraded = try response(.connection(connection))
        #expect(upgraded.connection === connection)
        #expect(upgraded.data.isEmpty && upgraded.bytes == nil && upgraded.file == nil)
    }

    @Test func settingTheDataMakesAnyBodyBuffered() throws {
        for body in [PulseResponse.Body.stream(stream), .file(file), .connection(connection)] {
            var response = try response(body)
            response.data.append(Data("d".utf8))
            #expect(response.data == Data("d".utf8))
            #expect(response.bytes == nil && response.file == nil && response.connection == nil)
        }
        #expect(connection.closeCount == 0)
    }

    @Test func changingTheBodyOfACopyLeavesTheOriginalUnchanged() throws {
        let original = try response()
        var copy = original
        copy.body = .file(file)
        #expect(original.data == Data("abc".utf8) && original.file == nil)
        #expect(copy.file == file)
    }

    @Test func discardingFreesWhatTheBodyHoldsOnce() throws {
        let stream = stream
        let streamed = try response(.stream(stream))
        streamed.discard()
        #expect(ends.withLock { $0 } == 1)
        streamed.discard()
        #expect(ends.withLock { $0 } == 1)
        let upgraded = try response(.connection(connection))
        upgraded.discard()
        #expect(connection.closeCount == 1)
        upgraded.discard()
        #expect(upgraded.connection === connection)
    }

    @Test func discardingLeavesBytesAndFilesUnchanged() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try Data("abc".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (buffered, downloaded) = (try response(), try response(.file(file)))
        buffered.discard()
        downloaded.discard()
        #expect(buffered.data == Data("abc".utf8))
        #expect(try Data(contentsOf: file) == Data("abc".utf8))
    }

    @Test func theTextTellsTheFormAndNeverTheContent() throws {
        let bodies: [(PulseResponse.Body, String)] = [
            (.buffered(Data("secret".utf8)), "6 bytes"), (.stream(stream), "a stream"), (.file(file), "a file"),
            (.connection(connection), "a connection"),
        ]
        for (body, text) in bodies {
            let response = try response(body)
            #expect(response.description.hasSuffix(", \(text)"))
            #expect("\(body)" == text)
            var dumped = ""
            dump(body, to: &dumped)
            dump(response, to: &dumped)
            #expect(!dumped.contains("secret"))
        }
    }
}
