// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled, .enabled(if: HTTP2Session.isSupported))
struct HTTP2UploadTests {
    @Test func aSmallBodyIsSentWithItsHead() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send("PUT", body: .bytes(Data("body".utf8))) }
        let head = try #require(await stage.peer.frame(.headers))
        let data = try #require(await stage.peer.frame(.data, on: head.stream))
        #expect(!head.isEnd && data.isEnd && data.payload == Array("body".utf8))
        stage.peer.send(.head(head.stream, 204, isEnd: true))
        #expect(try await call.value?.statusCode == 204)
    }

    /// The window of a stream is 10 bytes (SETTINGS_INITIAL_WINDOW_SIZE).
    @Test(arguments: [35, nil] as [Int64?])
    func aBodyWaitsForTheWindow(length: Int64?) async throws {
        let stage = try await HTTP2Stage([(4, 10)])
        let bytes = Data(0..<35)
        let body = HTTP2Stage.upload([bytes.prefix(20), bytes.dropFirst(20)], length: length)
        let call = Task { try await stage.send("POST", body: body) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        var received: [UInt8] = []
        var isEnd = false
        while !isEnd {
            let frame = try #require(await stage.peer.frame(.data, on: stream))
            #expect(frame.payload.count <= 10)
            received += frame.payload
            isEnd = frame.isEnd
            stage.peer.send(.windowUpdate(stream, 10))
        }
        #expect(received == Array(bytes))
        stage.peer.send(.head(stream, 200), .data(stream, "well", isEnd: true))
        let response = try #require(try await call.value)
        #expect(response.data == Data("well".utf8) && response.timings?.requestSent != nil)
    }

    @Test func anEmptyBodyEndsItsStream() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload([] as [Data], length: 0)) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        let data = try #require(await stage.peer.frame(.data, on: stream))
        #expect(data.isEnd && data.payload.isEmpty)
        stage.peer.send(.head(stream, 204, isEnd: true))
        #expect(try await call.value?.statusCode == 204)
    }

    @Test func aRefusalEndsTheBody() async throws {
        let stage = try await HTTP2Stage()
        let chunks = AsyncStream<Data>.makeStream()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload(chunks.stream)) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        chunks.continuation.yield(Data("a".utf8))
        _ = await stage.peer.frame(.data, on: stream)
        stage.peer.send(.head(stream, 413), .data(stream, "too much", isEnd: true))
        let response = try #require(try await call.value)
        #expect(response.statusCode == 413 && response.data == Data("too much".utf8))
        #expect(response.timings?.requestSent == nil)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    @Test func theServerMayReadOnAfterItsResponse() async throws {
        let stage = try await HTTP2Stage()
        let chunks = AsyncStream<Data>.makeStream()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload(chunks.stream)) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 200), .data(stream, "well", isEnd: true))
        await stage.peer.settle()
        #expect(stage.connection.idleSince == nil)
        chunks.continuation.yield(Data("a".utf8))
        chunks.continuation.finish()
        var received: [UInt8] = []
        var isEnd = false
        while !isEnd {
            let frame = try #require(await stage.peer.frame(.data, on: stream))
            received += frame.payload
            isEnd = frame.isEnd
        }
        #expect(received == Array("a".utf8))
        #expect(try await call.value?.data == Data("well".utf8))
        await stage.peer.settle()
        #expect(!stage.peer.frames.contains { $0.kind == .reset })
    }

    /// RFC 9113, section 8.1.
    @Test(arguments: [0, 8] as [UInt32])
    func aResetAfterTheResponseEndsTheBody(code: UInt32) async throws {
        let stage = try await HTTP2Stage()
        let chunks = AsyncStream<Data>.makeStream()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload(chunks.stream)) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        chunks.continuation.yield(Data("a".utf8))
        _ = await stage.peer.frame(.data, on: stream)
        stage.peer.send(.head(stream, 200), .data(stream, "well", isEnd: true), .reset(stream, code))
        await stage.peer.settle()
        chunks.continuation.yield(Data("b".utf8))
        #expect(try await call.value?.data == Data("well".utf8))
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    @Test func theFailureOfASourceEndsTheStream() async throws {
        struct Broken: Error {}
        let stage = try await HTTP2Stage()
        let body = TransportRequest.Body.stream(
            RequestBody.Stream(length: 9) { ByteStream(next: { throw Broken() }) })
        let call = Task { try await stage.send("POST", body: body) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        #expect(await call.failure != nil)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen)
    }

    @Test func aCancelledUploadResetsItsStream() async throws {
        let stage = try await HTTP2Stage()
        let chunks = AsyncStream<Data>.makeStream()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload(chunks.stream)) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        await stage.peer.settle()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen)
    }

    /// The source is not asked for more than fits, and the server is to blame for the wait.
    @Test func aPeerThatReadsNothingTimesOut() async throws {
        let stage = try await HTTP2Stage()
        let made = Locked(0)
        let body = TransportRequest.Body.stream(
            RequestBody.Stream(length: nil) {
                ByteStream(next: {
                    made.withLock { $0 += 1 }
                    return Data(count: 64 << 10)
                })
            })
        let call = Task { try await stage.send("POST", body: body, idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        await stage.stream(stream) { $0.writer?.goal == .room }
        #expect(made.withLock { $0 } == 5)
        await stage.peer.settle()
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 31)
        #expect((await call.failure as? TransportFailure)?.code == .timedOut)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen)
    }

    @Test func aSlowSourceIsNotTheServersFault() async throws {
        let stage = try await HTTP2Stage()
        let chunks = AsyncStream<Data>.makeStream()
        let call = Task { try await stage.send("POST", body: HTTP2Stage.upload(chunks.stream), idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        chunks.continuation.yield(Data("a".utf8))
        #expect(await stage.peer.frame(.data, on: stream)?.payload == Array("a".utf8))
        await stage.clock.advance(by: 100)
        #expect(stage.connection.idleSince == nil)
        chunks.continuation.finish()
        #expect(await stage.peer.frame(.data, on: stream)?.isEnd == true)
        stage.peer.send(.head(stream, 204, isEnd: true))
        #expect(try await call.value?.statusCode == 204)
    }

    /// The body's source may be usable only once.
    @Test func aBodyIsNotBegunBeforeItsHeadIsSent() async throws {
        let stage = try await HTTP2Stage()
        stage.peer.failSends()
        let makes = Locked(0)
        let body = TransportRequest.Body.stream(
            RequestBody.Stream(length: nil) {
                makes.withLock { $0 += 1 }
                return ByteStream([])
            })
        let response = try await stage.send("POST", body: body)
        #expect(response == nil && makes.withLock { $0 } == 0)
    }
}
#endif
