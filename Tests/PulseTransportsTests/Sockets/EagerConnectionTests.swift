// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// A write whose first bytes leave without the lock of the connection, and tasks on the thread of the loop.
@Suite(.tags(.threads, .addresses), .throttled)
struct EagerConnectionTests {
    private let pair: SocketPair
    private let loop: SocketLoop

    init() throws {
        loop = SocketLoop(try SocketLoop.Core())
        pair = try SocketPair()
    }

    private func turn() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { buffer in
            #expect(loop.core.turn(with: buffer, waits: false))
        }
    }

    private func event(isWritable: Bool) -> pulse_poller_event {
        pulse_poller_event(number: 0, is_readable: !isWritable, is_writable: isWritable, has_ended: false)
    }

    // MARK: The first send

    @Test func theLoopSendsNothingMeanwhile() throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        let channel = try #require(try state.write(Data([1, 2])))
        #expect(!state.maySend)
        state.flush()
        #expect(pair.taken() == [])
        #expect(throws: PulseError.self) { try state.write(Data([3])) }
        let outcome = Data([1, 2]).withUnsafeBytes { channel.send($0) }
        #expect(try state.endFirstSend(outcome, of: 2, loop.core.poller) == .returns)
        #expect(pair.taken() == [1, 2])
        close(pair.near)
    }

    /// The poller reports room only once.
    @Test(arguments: [false, true]) func roomThatIsReportedMeanwhileCounts(isReported: Bool) throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        pair.fill()
        #expect(try state.write(Data([1, 2])) != nil)
        _ = pair.taken()
        if isReported { state.note(event(isWritable: true)) }
        state.note(event(isWritable: false))
        #expect(try state.endFirstSend(.blocked, of: 2, loop.core.poller) == (isReported ? .returns : .waits))
        #expect(pair.taken() == (isReported ? [1, 2] : []))
        close(pair.near)
    }

    /// Otherwise the bytes could reach another connection, which has the same descriptor.
    @Test func theDescriptorStaysOpenMeanwhile() throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        let channel = try #require(try state.write(Data([1])))
        for _ in 0..<2 { #expect(state.close(loop.core.poller).isEmpty) }
        #expect(pair.isOpen)
        let outcome = Data([1]).withUnsafeBytes { channel.send($0) }
        #expect(throws: CancellationError.self) { try state.endFirstSend(outcome, of: 1, loop.core.poller) }
        #expect(pair.taken() == [1])
        #expect(pair.isFinished)
        #expect(throws: CancellationError.self) { try state.write(Data([1])) }
    }

    /// An idle connection has no such task; the two are independent nevertheless.
    @Test func theEndOfARestLeavesTheDescriptorOpenMeanwhile() throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        let channel = try #require(try state.write(Data([1])))
        let isOverAtOnce = state.rest(until: 5, loop.core.poller)
        let isOver = state.endRestIfOver(loop.core.poller, now: 5)
        #expect(isOver && !isOverAtOnce)
        #expect(pair.isOpen)
        let outcome = Data([1]).withUnsafeBytes { channel.send($0) }
        #expect(throws: TransportFailure.self) { try state.endFirstSend(outcome, of: 1, loop.core.poller) }
        #expect(pair.taken() == [1])
        #expect(pair.isFinished)
    }

    /// Else a message that has left would count as unsent.
    @Test func whatIsSentIsSentThoughThePeerEndsTheConnectionMeanwhile() throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        let channel = try #require(try state.write(Data([1])))
        let outcome = Data([1]).withUnsafeBytes { channel.send($0) }
        state.fail(TransportFailure(code: .networkConnectionLost, phase: .responseStarted))
        #expect(try state.endFirstSend(outcome, of: 1, loop.core.poller) == .returns)
        #expect(pair.taken() == [1])
        #expect(throws: TransportFailure.self) { try state.write(Data([2])) }
        close(pair.near)
    }

    @Test func finishingMeanwhileEndsTheDirectionAfterTheBytes() throws {
        var state = SocketConnection.State(SocketChannel(pair.near))
        let channel = try #require(try state.write(Data([1])))
        state.finishWriting()
        #expect(pair.isOpen)
        let outcome = Data([1]).withUnsafeBytes { channel.send($0) }
        #expect(try state.endFirstSend(outcome, of: 1, loop.core.poller) == .returns)
        #expect(pair.taken() == [1])
        #expect(pair.isFinished)
        close(pair.near)
    }

    @Test func aStartedWriteIsFinishedByAnyTask() async throws {
        let connection = try loop.connection(SocketChannel(pair.near), remoteAddress: nil)
        #expect(try connection.startWriting(Data([1])))
        let large = Data(repeating: 7, count: 4 << 20)
        #expect(try !connection.startWriting(large))
        #expect(throws: PulseError.self) { try connection.startWriting(Data([1])) }
        let finishing = Task.startingNow { try await connection.finishStarted() }
        var count = 0
        while count < large.count + 1 {
            count += pair.taken().count
            turn()
        }
        try await finishing.value
        #expect(try connection.startWriting(Data([2])))
        #expect(pair.taken() == [2])
    }

    // MARK: Tasks on the thread

    @Test func readersRunOnTheThreadOfTheLoop() async throws {
        let connection = try loop.connection(SocketChannel(pair.near), remoteAddress: nil)
        let hasRun = Locked(false)
        let reader = Task { await connection.readingNearby { hasRun.withLock { $0 = true } } }
        while loop.core.state.withLock({ $0.jobs.isEmpty }) { await Task.yield() }
        #expect(!hasRun.withLock { $0 })
        turn()
        #expect(hasRun.withLock { $0 })
        await reader.value
    }

    /// A task must end also after the thread.
    @Test func readersEndAfterTheThread() async throws {
        let running = try SocketLoop()
        let connection = try running.connection(SocketChannel(pair.near), remoteAddress: nil)
        let reader = Task {
            await connection.readingNearby {
                await #expect(throws: CancellationError.self) { try await connection.read() }
                for _ in 0..<100 { await Task.yield() }
            }
        }
        await running.shutdown()
        await reader.value
        await connection.readingNearby { await Task.yield() }
    }
}
#endif
