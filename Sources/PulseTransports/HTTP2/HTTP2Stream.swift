// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// An exchange's handle to one stream: one task reads, another one uploads. Dropping it cancels the stream.
final class HTTP2Stream: Sendable {
    /// The stream has ended too early.
    struct Ended: Error {
        let cause: HTTP2Outcome.Cause
        /// Whether the header fields of the request may have been sent.
        let isBegun: Bool
    }

    private let id: Int32
    private let connection: HTTP2Connection

    init(_ id: Int32, of connection: HTTP2Connection) {
        (self.id, self.connection) = (id, connection)
    }

    deinit {
        release()
    }

    /// The state of the stream; nil once it is released.
    var state: HTTP2Connection.StreamState? { connection.stream(id) }

    /// Ends the stream, with a RST_STREAM unless both sides have ended it.
    func release() {
        connection.release(id)
    }

    // MARK: Response

    /// Waits for the head of the response. Throws ``Ended``, and `CancellationError`.
    func head() async throws -> HTTP2Connection.Head {
        while true {
            if let head = try connection.takeHead(of: id) { return head }
            try await wait(for: .head)
        }
    }

    /// Waits for bytes of the body, and takes them, so that the peer can send as many more; nil at its end. Throws
    /// ``Ended`` after the last bytes, and `CancellationError`.
    ///
    /// - Parameter limit: the last piece may exceed it.
    func bytes(upTo limit: Int) async throws -> [Data]? {
        while true {
            switch try connection.takeBytes(upTo: limit, of: id) {
            case .bytes(let pieces, _): return pieces
            case .end: return nil
            case .nothingYet: try await wait(for: .body)
            }
        }
    }

    /// Waits until the goal is met, or the stream has ended. Throws `CancellationError`.
    private func wait(for goal: HTTP2Connection.Goal) async throws {
        try Task.checkCancellation()
        await connection.wait(for: goal, of: id)
        try Task.checkCancellation()
    }
}

extension HTTP2Stream: UploadChannel {
    /// The connection accepts nothing more for the stream.
    private struct Closed: Error {}

    var hasHead: Bool { state?.isTaken == true }

    func finishHead() async throws {
        try await wait(for: .taken)
        guard hasHead else { throw Closed() }
    }

    func send(_ chunk: Data, isLast: Bool) async throws {
        guard connection.send(chunk, isLast: isLast, on: id) else { throw Closed() }
        try await wait(for: .room)
    }

    func finish() async throws {
        try await wait(for: .sent)
        guard state?.sentAt != nil else { throw Closed() }
    }

    func setWaitsForSource(_ waits: Bool) { connection.setWaitsForSource(waits, on: id) }

    func endReading() {}

    /// Its tasks throw ``Ended``.
    func abort() { connection.abort(id) }
}
#endif
