// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

@testable import PulseTransports

/// A connection in memory, and the server at its other end, which a test plays by hand.
final class HTTP2ConnectionPeer: ReusableConnection, EagerConnection {
    /// RFC 9113, section 4.1.
    struct Frame: Sendable, Equatable {
        enum Kind: UInt8, Sendable {
            case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
        }

        var kind: Kind
        var flags: UInt8 = 0
        var stream: Int32 = 0
        var payload: [UInt8] = []

        /// Of DATA and HEADERS; ACK of SETTINGS and PING.
        var isEnd: Bool { flags & 1 != 0 }

        /// The number at that offset of the payload: an error code, or the last stream of a GOAWAY.
        func number(at offset: Int = 0) -> UInt32 {
            payload.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }

        var bytes: [UInt8] {
            var bytes = Array(UInt32(payload.count).bytes.dropFirst())
            bytes += [kind.rawValue, flags]
            bytes += UInt32(bitPattern: stream).bytes
            return bytes + payload
        }
    }

    private struct State {
        /// What the client has not read yet.
        var incoming: [Data] = []
        var incomingEnd: Result<Void, TransportFailure>?
        var reader: CheckedContinuation<Void, Never>?
        var isClosed = false

        var hasPreface = false
        /// The start of a frame of the client.
        var partial: [UInt8] = []
        var frames: [Frame] = []
        /// How often something has come from the client.
        var changeCount = 0
        var watchers: [CheckedContinuation<Void, Never>] = []

        var isBlocked = false
        /// The bytes for which the socket has no room.
        var held: Data?
        var writer: CheckedContinuation<Void, Never>?
        var sendFailure: TransportFailure?
        /// Whether the reader finds the failure to send.
        var endsWithSendFailure = false

        mutating func take(_ bytes: Data) -> [CheckedContinuation<Void, Never>] {
            partial += bytes
            let preface = HTTP2ConnectionPeer.preface
            if !hasPreface, partial.count >= preface.count {
                hasPreface = partial.prefix(preface.count).elementsEqual(preface)
                partial.removeFirst(preface.count)
            }
            while hasPreface, let frame = Frame(from: &partial) { frames.append(frame) }
            changeCount += 1
            defer { watchers = [] }
            return watchers
        }
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private let state = Locked(State())

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: Server

    /// The next matching frame of the client, which is removed; nil once the connection is closed without one.
    func frame(_ kind: Frame.Kind, on stream: Int32? = nil) async -> Frame? {
        await next { $0.kind == kind && (stream == nil || $0.stream == stream) && !(kind == .settings && $0.isEnd) }
    }

    func next(where matches: @Sendable (Frame) -> Bool = { _ in true }) async -> Frame? {
        while true {
            let (frame, seen, isClosed) = state.withLock { state -> (Frame?, Int, Bool) in
                let index = state.frames.firstIndex(where: matches)
                return (index.map { state.frames.remove(at: $0) }, state.changeCount, state.isClosed)
            }
            if frame != nil || isClosed { return frame }
            await change(after: seen)
        }
    }

    /// The frames that have come and are not taken.
    var frames: [Frame] { state.withLock { $0.frames } }

    /// Returns once the client has closed the connection.
    func closed() async {
        while true {
            let (isClosed, seen) = state.withLock { ($0.isClosed, $0.changeCount) }
            if isClosed { return }
            await change(after: seen)
        }
    }

    private func change(after seen: Int) async {
        await withCheckedContinuation { (watcher: CheckedContinuation<Void, Never>) in
            let hasChanged = state.withLock { state in
                if state.changeCount == seen { state.watchers.append(watcher) }
                return state.changeCount != seen
            }
            if hasChanged { watcher.resume() }
        }
    }

    func send(_ frames: Frame...) {
        send(frames)
    }

    func send(_ frames: [Frame]) {
        send(bytes: Data(frames.flatMap(\.bytes)))
    }

    /// Sends bytes that may be a part of a frame.
    func send(bytes: Data) {
        let reader = state.withLock { state in
            state.incoming.append(bytes)
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Returns once the client has handled all that was sent.
    func settle() async {
        send(Frame(kind: .ping, payload: [UInt8](repeating: 7, count: 8)))
        _ = await next { $0.kind == .ping && $0.isEnd }
    }

    /// Ends the server's direction, or fails.
    func end(_ failure: TransportFailure? = nil) {
        let reader = state.withLock { state in
            if let failure { state.incomingEnd = .failure(failure) } else { state.incomingEnd = .success(()) }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Gives the socket no room from now on: it holds the next bytes.
    func block() {
        state.withLock { $0.isBlocked = true }
    }

    func unblock() {
        let (writer, watchers) = state.withLock { state in
            state.isBlocked = false
            let watchers = state.held.take().map { state.take($0) } ?? []
            return (state.writer.take(), watchers)
        }
        writer?.resume()
        for watcher in watchers { watcher.resume() }
    }

    /// Lets all later writes fail.
    ///
    /// - Parameter endsReading: whether the reader finds the failure when it finds no bytes, as that of a socket does.
    func failSends(_ phase: PulseError.Phase = .beforeSend, endsReading: Bool = true) {
        state.withLock { state in
            state.sendFailure = TransportFailure(code: .networkConnectionLost, phase: phase)
            state.endsWithSendFailure = endsReading
        }
    }

    // MARK: Connection

    let remoteAddress: String? = "192.0.2.1"
    var sent: (count: Int, time: TimeInterval) { (0, 0) }
    var mayHaveSent: Bool { true }

    func begin(idleTimeout: TimeInterval) {}
    func limitIdleTime(to timeout: TimeInterval) {}
    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {}
    func finishSending() async throws {}
    func beginStreaming() {}
    func endReading() {}
    func upgrade(unread: Data) {}
    func finishWriting() {}

    func read() async throws -> Data? {
        while true {
            let (bytes, end, isClosed) = state.withLock { state in
                (state.incoming.isEmpty ? nil : state.incoming.removeFirst(), state.incomingEnd, state.isClosed)
            }
            if isClosed { throw CancellationError() }
            if let bytes { return bytes }
            if let end {
                try end.get()
                return nil
            }
            await withCheckedContinuation { (reader: CheckedContinuation<Void, Never>) in
                let mustWait = state.withLock { state in
                    guard state.incoming.isEmpty, state.incomingEnd == nil, !state.isClosed else { return false }
                    state.reader = reader
                    return true
                }
                if !mustWait { reader.resume() }
            }
        }
    }

    func write(_ bytes: Data) async throws {
        if try !startWriting(bytes) { try await finishStarted() }
    }

    func startWriting(_ bytes: Data) throws -> Bool {
        let (result, waiters) = state.withLock {
            state -> (Result<Bool, any Error>, [CheckedContinuation<Void, Never>]) in
            if state.isClosed { return (.failure(CancellationError()), []) }
            if let failure = state.sendFailure {
                guard state.endsWithSendFailure else { return (.failure(failure), []) }
                state.incomingEnd = .failure(failure)
                return (.failure(failure), [state.reader.take()].compactMap { $0 })
            }
            guard !state.isBlocked else {
                state.held = bytes
                return (.success(false), [])
            }
            return (.success(true), state.take(bytes))
        }
        for waiter in waiters { waiter.resume() }
        return try result.get()
    }

    func finishStarted() async throws {
        await withCheckedContinuation { (writer: CheckedContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard state.held != nil, !state.isClosed else { return false }
                state.writer = writer
                return true
            }
            if !mustWait { writer.resume() }
        }
        if isClosed { throw CancellationError() }
    }

    func readingNearby(_ work: @Sendable () async -> Void) async {
        await work()
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            state.changeCount += 1
            defer { state.watchers = [] }
            return state.watchers + [state.reader.take(), state.writer.take()].compactMap { $0 }
        }
        for waiter in waiters { waiter.resume() }
    }
}

// MARK: - Frames

extension HTTP2ConnectionPeer.Frame {
    /// Removes the first frame from the bytes; nil if it is not complete.
    init?(from bytes: inout [UInt8]) {
        guard bytes.count >= 9, let kind = Kind(rawValue: bytes[3]) else { return nil }
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        guard bytes.count >= 9 + length else { return nil }
        let stream = bytes[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
        self.init(
            kind: kind, flags: bytes[4], stream: Int32(bitPattern: stream), payload: Array(bytes[9..<9 + length]))
        bytes.removeFirst(9 + length)
    }

    static func settings(_ values: [(UInt16, UInt32)] = []) -> Self {
        Self(kind: .settings, payload: values.flatMap { $0.0.bytes + $0.1.bytes })
    }

    static let settingsAck = Self(kind: .settings, flags: 1)

    /// A head, whose fields are literals without an index (RFC 7541, section 6.2.2).
    static func head(
        _ stream: Int32, _ status: Int, _ fields: [(String, String)] = [], isEnd: Bool = false
    ) -> Self {
        Self(
            kind: .headers, flags: isEnd ? 5 : 4, stream: stream,
            payload: literals([(":status", "\(status)")] + fields))
    }

    static func trailers(_ stream: Int32, _ fields: [(String, String)]) -> Self {
        Self(kind: .headers, flags: 5, stream: stream, payload: literals(fields))
    }

    /// All names and values are shorter than 127 bytes.
    private static func literals(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            bytes += [0, UInt8(name.utf8.count)]
            bytes += Array(name.utf8)
            bytes.append(UInt8(value.utf8.count))
            bytes += Array(value.utf8)
        }
        return bytes
    }

    static func data(_ stream: Int32, _ bytes: [UInt8], isEnd: Bool = false) -> Self {
        Self(kind: .data, flags: isEnd ? 1 : 0, stream: stream, payload: bytes)
    }

    static func data(_ stream: Int32, _ text: String, isEnd: Bool = false) -> Self {
        data(stream, Array(text.utf8), isEnd: isEnd)
    }

    static func reset(_ stream: Int32, _ code: UInt32) -> Self {
        Self(kind: .reset, stream: stream, payload: code.bytes)
    }

    static func goAway(last: Int32, _ code: UInt32 = 0) -> Self {
        Self(kind: .goAway, payload: UInt32(bitPattern: last).bytes + code.bytes)
    }

    static func windowUpdate(_ stream: Int32, _ count: UInt32) -> Self {
        Self(kind: .windowUpdate, stream: stream, payload: count.bytes)
    }
}

extension FixedWidthInteger {
    /// The bytes, the highest first.
    fileprivate var bytes: [UInt8] {
        (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> Self($0 * 8)) }
    }
}
#endif
