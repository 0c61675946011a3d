// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct ByteStreamTests {
    private struct Fault: Error {}

    /// A source that a test feeds, with a count of its cancellations.
    private final class Source: Sendable {
        private let chunks: AsyncThrowingStream<Data, any Error>
        private let feed: AsyncThrowingStream<Data, any Error>.Continuation
        private let cancels = Locked(0)
        private let reading = AsyncStream<Void>.makeStream()

        init() {
            (chunks, feed) = AsyncThrowingStream.makeStream()
        }

        var cancelCount: Int { cancels.withLock { $0 } }

        func send(_ text: String) { feed.yield(Data(text.utf8)) }
        func end(_ error: (any Error)? = nil) { feed.finish(throwing: error) }

        /// Returns once a reader has requested a chunk.
        func isRead() async {
            for await _ in reading.stream { return }
        }

        func stream(endsWith error: (any Error)? = CancellationError()) -> ByteStream {
            ByteStream {
                self.reading.continuation.yield()
                for try await chunk in self.chunks { return chunk }
                return nil
            } cancel: {
                self.cancels.withLock { $0 += 1 }
                self.feed.finish(throwing: error)
            }
        }
    }

    private final class Ends: Sendable {
        private let seen = Locked<[PulseError.Kind?]>([])

        var kinds: [PulseError.Kind?] { seen.withLock { $0 } }

        func observe(_ stream: ByteStream) {
            stream.onEnd { error in self.seen.withLock { $0.append(error?.kind) } }
        }
    }

    private func text(_ stream: ByteStream) async throws -> String {
        String(decoding: try await stream.collect(upTo: 1000), as: UTF8.self)
    }

    // MARK: Reading

    @Test
    func chunksArriveInOrder() async throws {
        let ends = Ends()
        let stream = ByteStream([Data("a".utf8), Data(), Data("bc".utf8)])
        ends.observe(stream)
        var chunks: [Data] = []
        for try await chunk in stream { chunks.append(chunk) }
        #expect(chunks == [Data("a".utf8), Data(), Data("bc".utf8)])
        #expect(ends.kinds == [nil])
    }

    @Test
    func aStreamIsReadOnlyOnce() async throws {
        let stream = ByteStream([Data("a".utf8), Data("b".utf8)])
        var first = stream.makeAsyncIterator()
        #expect(try await first.next() == Data("a".utf8))
        var second = stream.makeAsyncIterator()
        let error = await #expect(throws: PulseError.self) { try await second.next() }
        #expect(error?.kind == .invalidRequest)
        #expect(try await first.next() == Data("b".utf8))
        #expect(try await first.next() == nil)
        #expect(try await first.next() == nil)
        await #expect(throws: PulseError.self) { try await stream.collect(upTo: 10) }
    }

    @Test
    func aSourceThatEndedNormallyIsNotCancelled() async throws {
        let source = Source()
        let stream = source.stream()
        source.send("x")
        source.end()
        #expect(try await text(stream) == "x")
        stream.cancel()
        #expect(source.cancelCount == 0)
    }

    @Test
    func anErrorOfTheSourceReachesReaderAndObservers() async throws {
        let (source, ends) = (Source(), Ends())
        let stream = source.stream()
        ends.observe(stream)
        source.send("x")
        source.end(URLError(.networkConnectionLost))
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == Data("x".utf8))
        for _ in 0..<2 {
            let error = await #expect(throws: PulseError.self) { try await iterator.next() }
            guard case .transport(.networkConnectionLost, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(ends.kinds == [.transport])
        ends.observe(stream)
        #expect(ends.kinds == [.transport, .transport])
    }

    @Test
    func aForeignErrorIsWrapped() async {
        let stream = ByteStream { throw Fault() }
        let error = await #expect(throws: PulseError.self) { try await stream.collect(upTo: 1) }
        #expect(error?.kind == .custom)
    }

    // MARK: Cancelling

    @Test
    func cancellingBeforeReadingEndsTheStream() async {
        let (source, ends) = (Source(), Ends())
        let stream = source.stream()
        ends.observe(stream)
        stream.cancel()
        stream.cancel()
        #expect(source.cancelCount == 1)
        #expect(ends.kinds == [.cancelled])
        let error = await #expect(throws: PulseError.self) { try await stream.collect(upTo: 1) }
        #expect(error?.kind == .cancelled)
    }

    /// However the source ends when it is freed, a truncated body never looks complete.
    @Test(arguments: [CancellationError(), Fault(), nil] as [(any Error)?])
    func cancellingAWaitingReaderThrowsCancelled(sourceEndsWith error: (any Error)?) async {
        let (source, ends) = (Source(), Ends())
        let stream = source.stream(endsWith: error)
        ends.observe(stream)
        let reader = Task { try await text(stream) }
        await source.isRead()
        stream.cancel()
        let thrown = await #expect(throws: PulseError.self) { try await reader.value }
        #expect(thrown?.kind == .cancelled)
        #expect(source.cancelCount == 1)
        #expect(ends.kinds == [.cancelled])
    }

    @Test(arguments: [CancellationError(), Fault(), nil] as [(any Error)?])
    func cancellingTheTaskThrowsCancelledAndFreesTheSource(sourceEndsWith error: (any Error)?) async {
        let (source, ends) = (Source(), Ends())
        let stream = source.stream(endsWith: error)
        ends.observe(stream)
        let reader = Task { try await text(stream) }
        await source.isRead()
        reader.cancel()
        let thrown = await #expect(throws: PulseError.self) { try await reader.value }
        #expect(thrown?.kind == .cancelled)
        #expect(source.cancelCount == 1)
        #expect(ends.kinds == [.cancelled])
    }

    @Test
    func aChunkAfterTheEndIsDropped() async {
        let stream = Locked<ByteStream?>(nil)
        let late = ByteStream {
            stream.withLock { $0 }?.cancel()
            return Data("late".utf8)
        }
        stream.withLock { $0 = late }
        let error = await #expect(throws: PulseError.self) { try await late.collect(upTo: 10) }
        #expect(error?.kind == .cancelled)
        stream.withLock { $0 = nil }
    }

    @Test
    func leavingTheLoopFreesTheSource() async throws {
        let (source, ends) = (Source(), Ends())
        let stream = source.stream()
        ends.observe(stream)
        source.send("a")
        source.send("b")
        for try await chunk in stream {
            #expect(chunk == Data("a".utf8))
            break
        }
        #expect(source.cancelCount == 1)
        #expect(ends.kinds == [.cancelled])
        withExtendedLifetime(stream) {}
    }

    @Test
    func droppingAnUnreadStreamFreesTheSource() {
        let (source, ends) = (Source(), Ends())
        do {
            let stream = source.stream()
            ends.observe(stream)
        }
        #expect(source.cancelCount == 1)
        #expect(ends.kinds == [.cancelled])
    }

    // MARK: The end

    @Test
    func everyObserverRunsOnce() async throws {
        let ends = Ends()
        let stream = ByteStream([Data("a".utf8)])
        for _ in 0..<3 { ends.observe(stream) }
        #expect(ends.kinds.isEmpty)
        _ = try await text(stream)
        #expect(ends.kinds == [nil, nil, nil])
        ends.observe(stream)
        #expect(ends.kinds.count == 4)
        stream.cancel()
        #expect(ends.kinds.count == 4)
    }

    @Test
    func anObserverMayUseTheStream() {
        let ends = Ends()
        let stream = ByteStream([])
        stream.onEnd { [weak stream] _ in
            stream?.cancel()
            stream.map { ends.observe($0) }
        }
        stream.cancel()
        #expect(ends.kinds == [.cancelled])
    }

    // MARK: Collecting

    @Test(arguments: [
        (0, [""], true), (0, ["a"], false), (3, ["ab", "c"], true), (2, ["ab", "c"], false), (0, [], true),
    ])
    func collectingStopsAtTheLimit(limit: Int, chunks: [String], fits: Bool) async throws {
        let (stream, ends) = (ByteStream(chunks.map { Data($0.utf8) }), Ends())
        ends.observe(stream)
        if fits {
            #expect(try await stream.collect(upTo: limit) == Data(chunks.joined().utf8))
            #expect(ends.kinds == [nil])
        } else {
            let error = await #expect(throws: PulseError.self) { try await stream.collect(upTo: limit) }
            guard case .responseTooLarge(limit) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(ends.kinds == [.cancelled])
        }
    }
}

@Suite(.tags(.threads, .addresses), .throttled)
struct ByteStreamStressTests {
    @Test
    func concurrentEndsEndTheStreamOnce() async {
        for _ in 0..<200 {
            let (ends, cancels) = (Locked(0), Locked(0))
            let stream = ByteStream {
                await Task.yield()
                return nil
            } cancel: {
                cancels.withLock { $0 += 1 }
            }
            stream.onEnd { _ in ends.withLock { $0 += 1 } }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await stream.collect(upTo: 1) }
                for _ in 0..<4 { group.addTask { stream.cancel() } }
            }
            #expect(ends.withLock { $0 } == 1)
            #expect(cancels.withLock { $0 } <= 1)
        }
    }
}
