// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform
import TestSupport
import Testing

#if os(Linux)
/// Sources over one end of a pair of sockets, to whose other end the test writes.
@Suite(.throttled)
struct ReadinessSourceTests {
    private let queue = DispatchQueue(label: "ReadinessSourceTests")
    private let reports = AsyncStream.makeStream(of: String.self)

    /// Foundation's libcurl leaves such a number behind: closed under a source of Dispatch, then another socket's.
    @Test func reportsADescriptorWhoseNumberDispatchStillWatches() async throws {
        let (old, new) = (try Pair(), try Pair())
        let stale = DispatchSource.makeReadSource(fileDescriptor: old.near, queue: queue)
        await withCheckedContinuation { registered in
            stale.setRegistrationHandler { registered.resume() }
            stale.activate()
        }
        #expect(dup2(new.near, old.near) == old.near)
        let source = try source(.read, of: old.near) { _ in }
        source.resume()
        new.say("a")
        var events = reports.stream.makeAsyncIterator()
        #expect(await events.next() == "ready")
        source.cancel()
        while await events.next() != "cancelled" {}
        stale.cancel()
        // Dispatch leaves the number some time later. Another descriptor with it would lose its events then.
        _ = Unmanaged.passRetained(old)
    }

    @Test func reportsUntilAllIsRead() async throws {
        let pair = try Pair()
        let source = try source(.read, of: pair.near) { $0.readByte() }
        pair.say("abc")
        source.resume()
        var events = reports.stream.makeAsyncIterator()
        for _ in 1...3 { #expect(await events.next() == "ready") }
        source.cancel()
        #expect(await events.next() == "cancelled")
    }

    @Test func aPausedSourceReportsNothing() async throws {
        let (paused, running) = (try Pair(), try Pair())
        let silent = try source(.read, of: paused.near, name: "silent") { $0.readByte() }
        silent.resume()
        silent.pause()
        let other = try source(.read, of: running.near, name: "other") { $0.readByte() }
        other.resume()
        var events = reports.stream.makeAsyncIterator()
        paused.say("a")
        // The poller reports in order, so this is behind a report of the first.
        running.say("a")
        #expect(await events.next() == "other ready")
        silent.resume()
        #expect(await events.next() == "silent ready")
        for source in [silent, other] { source.cancel() }
        #expect(await [events.next(), events.next()] == ["silent cancelled", "other cancelled"])
    }

    /// The descriptor may be closed in the handler of the cancellation: no other handler runs then.
    @Test func theHandlerOfTheCancellationIsTheLast() async throws {
        for round in 0..<200 {
            let pair = try Pair()
            let source = try source(.read, of: pair.near) { _ in }
            source.resume()
            pair.say("a")
            var events = reports.stream.makeAsyncIterator()
            for _ in 0..<round % 4 { #expect(await events.next() == "ready") }
            source.cancel()
            source.cancel()
            while await events.next() != "cancelled" {}
            queue.sync {}
            reports.continuation.yield("end")
            #expect(await events.next() == "end")
        }
    }

    @Test func reportsRoomToWrite() async throws {
        let pair = try Pair()
        pair.fill()
        let source = try source(.write, of: pair.near) { _ in }
        source.resume()
        queue.sync {}
        reports.continuation.yield("full")
        var events = reports.stream.makeAsyncIterator()
        #expect(await events.next() == "full")
        pair.drain()
        #expect(await events.next() == "ready")
        source.cancel()
        while await events.next() != "cancelled" {}
    }

    /// A source that yields its events, each after its name.
    private func source(
        _ direction: ReadinessSource.Direction, of descriptor: Int32, name: String = "",
        whenReady: @escaping @Sendable (Descriptor) -> Void
    ) throws -> ReadinessSource {
        let (continuation, prefix) = (reports.continuation, name.isEmpty ? "" : name + " ")
        return ReadinessSource(direction, of: descriptor, by: try .shared(), on: queue) {
            whenReady(Descriptor(number: descriptor))
            continuation.yield(prefix + "ready")
        } onCancel: {
            continuation.yield(prefix + "cancelled")
        }
    }
}

private struct Descriptor: Sendable {
    let number: Int32

    func readByte() {
        var byte: UInt8 = 0
        _ = recv(number, &byte, 1, Int32(MSG_DONTWAIT))
    }
}

private final class Pair: Sendable {
    let near: Int32
    private let far: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }

    func say(_ text: String) {
        #expect(send(far, text, text.utf8.count, 0) == text.utf8.count)
    }

    /// Makes the near end send until there is no more room.
    func fill() {
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while send(near, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
    }

    func drain() {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while recv(far, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
}
#endif
