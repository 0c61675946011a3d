// SPDX-License-Identifier: MIT

import PulseCore

/// A transport whose upgraded connections break after a number of bytes, and are counted.
package final class CuttingTransport: Transport {
    /// What becomes of a handshake.
    package struct Cut: Sendable {
        /// The status that refuses it; nil for none.
        package var refusal: Int?
        /// The bytes in each direction after which the connection breaks.
        package var read = Int.max
        package var written = Int.max

        package init(refusal: Int? = nil, read: Int = .max, written: Int = .max) {
            (self.refusal, self.read, self.written) = (refusal, read, written)
        }
    }

    /// The connections so far.
    package struct Count: Sendable {
        package var handshakes = 0
        package var opened = 0
        /// Not closed.
        package var open = 0
        package var maxOpen = 0
        /// Not freed.
        package var alive = 0
        /// Broken by this transport.
        package var cut = 0
        package var bytesRead = 0
        package var bytesWritten = 0
        /// Whether two tasks have read from a connection at once, or written to it.
        package var isShared = false
    }

    private let base: any Transport
    private let cut: @Sendable (Int) throws -> Cut
    private let state = Locked(Count())

    /// - Parameter cut: for the index of a handshake. What it throws fails that.
    package init(_ base: any Transport, cut: @escaping @Sendable (Int) throws -> Cut = { _ in Cut() }) {
        (self.base, self.cut) = (base, cut)
    }

    package var count: Count { state.withLock { $0 } }
    package var capabilities: TransportCapabilities { base.capabilities }

    package func send(_ request: TransportRequest) async throws -> PulseResponse {
        let index = state.withLock { count in
            defer { count.handshakes += 1 }
            return count.handshakes
        }
        let cut = try cut(index)
        if let status = cut.refusal { return PulseResponse(statusCode: status, request: request.urlRequest) }
        var response = try await base.send(request)
        guard let connection = response.connection else { return response }
        state.withLock { count in
            count.opened += 1
            count.open += 1
            count.alive += 1
            count.maxOpen = max(count.maxOpen, count.open)
        }
        response.body = .connection(CutConnection(connection, cut, state))
        return response
    }

    package func shutdown() async { await base.shutdown() }
}

/// A connection that breaks: what comes behind the cut is lost in both directions.
private final class CutConnection: DuplexConnection {
    private struct State: Sendable {
        var rest: CuttingTransport.Cut
        var isCut = false
        var isClosed = false
        var isReading = false
        var isWriting = false
    }

    private let base: any DuplexConnection
    private let state: Locked<State>
    private let count: Locked<CuttingTransport.Count>

    init(_ base: any DuplexConnection, _ cut: CuttingTransport.Cut, _ count: Locked<CuttingTransport.Count>) {
        self.base = base
        self.count = count
        state = Locked(State(rest: cut))
    }

    deinit {
        close()
        count.withLock { $0.alive -= 1 }
    }

    var remoteAddress: String? { base.remoteAddress }

    func read() async throws -> Data? {
        enter(\.isReading)
        defer { state.withLock { $0.isReading = false } }
        let bytes: Data?
        do {
            bytes = try await base.read()
        } catch {
            throw state.withLock({ $0.isCut && !$0.isClosed }) ? Self.lost(.maybeSent) : error
        }
        let count = state.withLock { state in
            let count = state.isCut ? 0 : min(bytes?.count ?? 0, state.rest.read)
            state.rest.read -= count
            return count
        }
        self.count.withLock { $0.bytesRead += count }
        guard let bytes, count < bytes.count else { return bytes }
        breakOff()
        guard count > 0 else { throw Self.lost(.maybeSent) }
        return Data(bytes.prefix(count))
    }

    func write(_ bytes: Data) async throws {
        enter(\.isWriting)
        defer { state.withLock { $0.isWriting = false } }
        let count = state.withLock { state in
            let count = state.isCut ? 0 : min(bytes.count, state.rest.written)
            state.rest.written -= count
            return count
        }
        self.count.withLock { $0.bytesWritten += count }
        if count > 0 {
            do {
                try await base.write(Data(bytes.prefix(count)))
            } catch {
                throw state.withLock({ $0.isCut && !$0.isClosed }) ? Self.lost(.maybeSent) : error
            }
        }
        guard count < bytes.count else { return }
        breakOff()
        throw Self.lost(count > 0 ? .maybeSent : .beforeSend)
    }

    func finishWriting() { base.finishWriting() }

    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { count.withLock { $0.open -= 1 } }
        base.close()
    }

    private func breakOff() {
        let isFirst = state.withLock { state in
            defer { state.isCut = true }
            return !state.isCut
        }
        if isFirst { count.withLock { $0.cut += 1 } }
        base.close()
    }

    private func enter(_ flag: WritableKeyPath<State, Bool> & Sendable) {
        let isShared = state.withLock { state in
            defer { state[keyPath: flag] = true }
            return state[keyPath: flag]
        }
        if isShared { count.withLock { $0.isShared = true } }
    }

    private static func lost(_ phase: PulseError.Phase) -> TransportFailure {
        TransportFailure(code: .networkConnectionLost, phase: phase)
    }
}
