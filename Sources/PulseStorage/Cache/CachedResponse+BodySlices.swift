// SPDX-License-Identifier: MIT

package import PulseCore

extension CachedResponse.Body {
    /// The bytes of a range, clamped to the body.
    package func slice(_ range: Range<Int>) -> CachedResponse.Body {
        let range = range.clamped(to: 0..<count)
        guard range.count < count else { return self }
        if let data = inMemory { return CachedResponse.Body(data.slice(range)) }
        return CachedResponse.Body(SlicedBody(body: self, range: range))
    }
}

private struct SlicedBody: CachedResponse.BodySource {
    let body: CachedResponse.Body
    let range: Range<Int>

    var count: Int { range.count }

    func data() async throws -> Data { try await body.data().slice(range) }

    func stream() async throws -> ByteStream { try await body.stream().slice(range) }
}

extension Data {
    /// A copy whose indices begin at zero.
    fileprivate func slice(_ range: Range<Int>) -> Data {
        subdata(in: (startIndex + range.lowerBound)..<(startIndex + range.upperBound))
    }
}

extension ByteStream {
    /// The chunks of several streams, one stream after the other.
    package static func joined(_ streams: [ByteStream]) -> ByteStream {
        let rest = Locked(streams.map { $0.makeAsyncIterator() }[...])
        return ByteStream(
            next: {
                while var iterator = rest.withLock({ $0.first }) {
                    if let chunk = try await iterator.next() { return chunk }
                    rest.withLock { _ = $0.popFirst() }
                }
                return nil
            }, cancel: { streams.forEach { $0.cancel() } })
    }

    /// The bytes of a range. The stream is read to its end before the last chunk of the range is passed on: only the
    /// end of a stored body shows whether the body is intact.
    func slice(_ range: Range<Int>) -> ByteStream {
        let source = makeAsyncIterator()
        let state = Locked((offset: 0, held: Data?.none))
        return ByteStream(
            next: {
                var iterator = source
                while let chunk = try await iterator.next() {
                    let ready = state.withLock { state -> Data? in
                        let overlap = range.clamped(to: state.offset..<(state.offset + chunk.count))
                        let local = (overlap.lowerBound - state.offset)..<(overlap.upperBound - state.offset)
                        state.offset += chunk.count
                        guard !overlap.isEmpty else { return nil }
                        defer { state.held = chunk.slice(local) }
                        return state.held
                    }
                    if let ready { return ready }
                }
                return state.withLock { state in
                    defer { state.held = nil }
                    return state.held
                }
            }, cancel: { self.cancel() })
    }
}
