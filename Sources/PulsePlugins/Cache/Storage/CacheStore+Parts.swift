// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CacheStore {
    // MARK: Storing a part

    /// Stores a part, joined with stored bytes of the same version.
    ///
    /// Runs in a separate task, like ``commitPart(_:by:for:)``: a part is stored even if its call is cancelled
    /// meanwhile. Otherwise the stored entry that it contradicts would be served again.
    func storePart(_ part: CachedResponse, for lookup: CacheLookup) async {
        await Task { await place(part, for: lookup) }.value
    }

    private func place(_ part: CachedResponse, for lookup: CacheLookup) async {
        await holdParts(of: lookup.key)
        defer { parts.release(lookup.key) }
        let stored = await storage.responses(for: lookup.key)
        switch placement(of: part.head, among: stored) {
        case .discarded: return
        case .alone: _ = await store(part, for: lookup)
        case .joined(let index, let head): await join(part, to: stored[index], under: head, for: lookup)
        case .confirms(let index, let head):
            _ = await store(CachedResponse(head: head, body: stored[index].body), for: lookup)
        }
    }

    /// Commits a part that was written while it arrived. Parts are joined only afterwards: otherwise a slow server
    /// would block all other calls.
    func commitPart(_ head: CachedResponse.Head, by writer: any CachedResponse.Writer, for lookup: CacheLookup) async {
        await Task { await place(head, by: writer, for: lookup) }.value
    }

    private func place(_ head: CachedResponse.Head, by writer: any CachedResponse.Writer, for lookup: CacheLookup) async
    {
        await holdParts(of: lookup.key)
        defer { parts.release(lookup.key) }
        let stored = await storage.responses(for: lookup.key)
        let placement = placement(of: head, among: stored)
        switch placement {
        case .discarded: return
        case .confirms(let index, let head):
            _ = await store(CachedResponse(head: head, body: stored[index].body), for: lookup)
        case .alone, .joined:
            guard await commit(head, for: lookup, { try await writer.commit(head) }) == .stored,
                case .joined(let index, let joined) = placement,
                let part = await storage.responses(for: lookup.key).first(where: { $0.head == head })
            else { return }
            await join(part, to: stored[index], under: joined, for: lookup)
        }
    }

    private func holdParts(of key: CacheKey) async {
        guard let id = parts.enter(key) else { return }
        _ = try? await parts.wait(key, id, priority: .normal)
    }

    private func placement(of part: CachedResponse.Head, among stored: [CachedResponse]) -> PartPlacement {
        policy.placement(of: part, among: stored.map { ($0.head, $0.body.count) })
    }

    private func join(
        _ part: CachedResponse, to stored: CachedResponse, under head: CachedResponse.Head, for lookup: CacheLookup
    ) async {
        guard let known = stored.head.parts, let range = part.head.parts?.ranges.first,
            let old = try? await stored.body.data(), let new = try? await part.body.data()
        else {
            // The stored entry is damaged.
            _ = await store(part, for: lookup)
            return
        }
        let body = old.replacing(known.count(below: range.lowerBound)..<known.count(below: range.upperBound), by: new)
        // The joined entry may be too large: then only the new part is stored.
        if await !store(CachedResponse(head: head, body: CachedResponse.Body(body)), for: lookup) {
            _ = await store(part, for: lookup)
        }
    }

    // MARK: Completing a partial response

    /// Joins the stored parts and the rest. Nil if the stored bytes cannot be read.
    func complete(
        _ stored: CachedResponse, _ rest: CacheRest, under head: CachedResponse.Head, mayStore: Bool,
        for lookup: CacheLookup,
        by response: PulseResponse
    ) async -> FetchOutcome? {
        guard let known = stored.head.parts, let length = head.contentLength else {
            response.discard()
            return nil
        }
        let gap = known.count(below: rest.start)..<known.count(below: rest.end ?? .max)
        guard let bytes = response.bytes else {
            guard let old = try? await stored.body.data() else { return nil }
            let whole = CachedResponse(head: head, body: CachedResponse.Body(old.replacing(gap, by: response.data)))
            return await confirm(whole, mayStore: mayStore, for: lookup, by: response)
        }
        guard let before = try? await stored.body.slice(0..<gap.lowerBound).stream(),
            let after = try? await stored.body.slice(gap.upperBound..<known.count).stream()
        else {
            response.discard()
            return nil
        }
        // The bytes around the rest are read from the store.
        let source = ByteStream.joined([before, bytes.expecting((rest.end ?? length) - rest.start), after])
        var (whole, head) = (response, head)
        head.tags.formUnion(lookup.tags)
        (whole.statusCode, whole.headers, whole.origin) = (head.statusCode, head.headers, .revalidated)
        guard mayStore, isFit(response, for: lookup) else {
            await remove(.key(lookup.key), in: lookup.context)
            whole.body = .stream(source)
            return .completed(whole)
        }
        whole.body = .stream(await CacheTee(source, into: self, under: head, for: lookup).stream())
        return .completed(whole)
    }
}

extension Data {
    fileprivate func replacing(_ range: Range<Int>, by bytes: Data) -> Data {
        var data = Data(capacity: count - range.count + bytes.count)
        data += prefix(range.lowerBound)
        data += bytes
        data += dropFirst(range.upperBound)
        return data
    }
}

extension ByteStream {
    /// The same bytes; fails if the count differs, since all following bytes would be misplaced.
    func expecting(_ count: Int) -> ByteStream {
        let source = makeAsyncIterator()
        let received = Locked(0)
        return ByteStream(
            next: {
                var iterator = source
                let chunk = try await iterator.next()
                let total = received.withLock { received in
                    received += chunk?.count ?? 0
                    return received
                }
                guard total <= count, chunk != nil || total == count else {
                    throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
                }
                return chunk
            }, cancel: { self.cancel() })
    }
}
