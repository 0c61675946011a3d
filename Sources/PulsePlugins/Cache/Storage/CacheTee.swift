// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Forwards a streamed body to its reader and writes it to the store. The entry is committed if the body is complete
/// and not too large.
final class CacheTee: Sendable {
    private enum State {
        case writing(any CachedResponse.Writer)
        /// The rest is not written.
        case passing
    }

    /// Maximum number of seconds to read a body that no call waits for. An endless body would occupy its connection
    /// forever.
    private static let longestRead: TimeInterval = 300

    private let source: ByteStream
    private let reader: Locked<ByteStream.Iterator>
    private let state = Locked<State>(.passing)
    private let count = Locked(0)
    private let expectedCount: Int?
    private let cache: CacheStore
    private let head: CachedResponse.Head
    private let lookup: CacheLookup

    /// - Parameter expectedCount: the length that the head states, if any. A body of another length is not stored.
    init(
        _ source: ByteStream, into cache: CacheStore, under head: CachedResponse.Head, for lookup: CacheLookup,
        expecting expectedCount: Int? = nil
    ) {
        self.source = source
        reader = Locked(source.makeAsyncIterator())
        self.cache = cache
        self.head = head
        self.expectedCount = expectedCount
        self.lookup = lookup
    }

    func stream() async -> ByteStream {
        do {
            let writer = try await cache.storage.writer(for: lookup.key)
            state.withLock { $0 = .writing(writer) }
        } catch {
            cache.warn(of: error, lookup.context)
            await cache.remove(.key(lookup.key), in: lookup.context)
        }
        let stream = ByteStream(next: { try await self.next() }, cancel: { self.cancel() })
        stream.trailersAtEnd = source.trailersAtEnd
        return stream
    }

    /// Reads a body for the store only, while the store accepts it and the time limit permits.
    func readAll(of stream: ByteStream) async {
        let clock = lookup.context.clock
        let end = clock.uptime + Self.longestRead
        do {
            var iterator = stream.makeAsyncIterator()
            while isWriting, clock.uptime < end, try await iterator.next() != nil {}
        } catch {}
        stream.cancel()
    }

    private var isWriting: Bool {
        state.withLock { state in
            if case .writing = state { true } else { false }
        }
    }

    private func next() async throws -> Data? {
        var iterator = reader.withLock { $0 }
        let chunk: Data?
        do {
            chunk = try await iterator.next()
        } catch {
            giveUp()
            throw error
        }
        guard case .writing(let writer) = state.withLock({ $0 }) else { return chunk }
        guard let chunk else {
            guard expectedCount.map({ $0 == count.withLock { $0 } }) ?? true else {
                giveUp()
                return nil
            }
            guard head.parts == nil else {
                await cache.commitPart(head, by: writer, for: lookup)
                giveUp()
                return nil
            }
            let outcome = await cache.commit(head, for: lookup) { try await writer.commit(self.head) }
            // The entry to be replaced is outdated in any case.
            if outcome == .notStored { await cache.remove(.key(lookup.key), in: lookup.context) }
            giveUp()
            return nil
        }
        count.withLock { $0 += chunk.count }
        var isWritten = false
        do {
            isWritten = try await writer.write(chunk)
        } catch {
            cache.warn(of: error, lookup.context)
        }
        if !isWritten {
            giveUp()
            await cache.remove(.key(lookup.key), in: lookup.context)
        }
        return chunk
    }

    private func cancel() {
        giveUp()
        source.cancel()
    }

    private func giveUp() {
        let writer = state.withLock { state -> (any CachedResponse.Writer)? in
            defer { state = .passing }
            if case .writing(let writer) = state { return writer }
            return nil
        }
        writer?.discard()
    }
}
