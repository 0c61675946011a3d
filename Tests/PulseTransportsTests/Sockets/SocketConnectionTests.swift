// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// The loop has no thread here: each test takes its turns.
@Suite(.tags(.threads, .addresses), .throttled)
struct SocketConnectionTests {
    private let loop: SocketLoop
    private let pair: SocketPair
    private let connection: SocketConnection

    init() throws {
        loop = SocketLoop(try SocketLoop.Core())
        pair = try SocketPair()
        connection = try loop.connection(SocketChannel(pair.near), remoteAddress: "127.0.0.1")
        connection.begin(idleTimeout: .infinity)
    }

    private func turn(room: Int = 64) {
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { buffer in
            #expect(loop.core.turn(with: buffer, waits: false))
        }
    }

    /// A task that reads, and waits if there is nothing to read.
    private func reader() -> Task<Data?, any Error> {
        Task.startingNow { [connection] in try await connection.read() }
    }

    private func failure(of task: Task<Data?, any Error>) async -> TransportFailure? {
        await #expect(throws: TransportFailure.self) { try await task.value }
    }

    // MARK: Reading

    @Test func theLoopReadsForAWaitingReader() async throws {
        let reader = reader()
        pair.say([1, 2])
        turn()
        #expect(try await reader.value == Data([1, 2]))
    }

    @Test func aReadTakesBytesThatHaveArrivedBefore() async throws {
        pair.say([1, 2])
        turn()
        #expect(try await connection.read() == Data([1, 2]))
    }

    @Test func aReaderWaitsThroughEventsThatBringNothing() async throws {
        let reader = reader()
        turn()
        turn()
        pair.say([3])
        turn()
        #expect(try await reader.value == Data([3]))
    }

    @Test func bytesBeyondTheLoopsBufferAreNotLost() async throws {
        let reader = reader()
        pair.say([1, 2, 3, 4, 5])
        turn(room: 4)
        #expect(try await reader.value == Data([1, 2, 3, 4]))
        #expect(try await connection.read() == Data([5]))
    }

    @Test(arguments: [false, true])
    func anEndThatComesWithBytesIsReadAfterThem(waits: Bool) async throws {
        let waiting = waits ? reader() : nil
        pair.say([1])
        pair.finish()
        turn()
        let first = waits ? try await waiting?.value : try await connection.read()
        #expect(first == Data([1]))
        // No further event comes.
        for _ in 0..<2 { #expect(try await connection.read() == nil) }
    }

    @Test func theEndEndsAWait() async throws {
        let reader = reader()
        pair.finish()
        turn()
        #expect(try await reader.value == nil)
    }

    @Test func aResetFailsTheReader() async throws {
        connection.send(Data([7]), ifIdle: false, isBatched: false)
        let reader = reader()
        pair.cut()
        turn()
        let failure = await failure(of: reader)
        #expect(failure?.code == .networkConnectionLost)
        #expect((failure?.underlying as? POSIXError)?.code == .ECONNRESET)
    }

    // MARK: Between exchanges

    /// Also if it had ended it before.
    @Test(arguments: [false, true]) func anIdleConnectionClosesWhenThePeerEndsIt(isEarly: Bool) async throws {
        if isEarly {
            pair.finish()
            turn()
            #expect(pair.isOpen)
        }
        connection.rest(for: 100)
        if !isEarly {
            turn()
            #expect(pair.isOpen)
            pair.finish()
            turn()
        }
        #expect(pair.isFinished)
        // A request that comes now has sent nothing.
        connection.begin(idleTimeout: .infinity)
        connection.send(Data([1]), ifIdle: true, isBatched: false)
        let failure = await failure(of: reader())
        #expect(failure?.isStaleConnection == true && failure?.phase == .beforeSend && !connection.mayHaveSent)
    }

    @Test func anIdleConnectionClosesAfterItsTime() {
        let now = pulse_monotonic_now()
        connection.rest(for: 100)
        let next = connection.checkTimeout(now: now + 99)
        #expect(next >= now + 100 && next < now + 200 && pair.isOpen)
        #expect(connection.checkTimeout(now: now + 200) == .infinity && pair.isFinished)
    }

    /// Its failure may have come with the last bytes of a response.
    @Test func aFailedConnectionClosesInsteadOfResting() throws {
        let other = try SocketPair()
        var state = SocketConnection.State(SocketChannel(other.near))
        state.fail(TransportFailure(code: .secureConnectionFailed, phase: .maybeSent))
        #expect(other.isOpen)
        let isOver = state.rest(until: .infinity, loop.core.poller)
        #expect(isOver && other.isFinished)
        state.begin(idleTimeout: .infinity, now: 0)
        let failure = #expect(throws: TransportFailure.self) { try state.read(isAgain: false) }
        #expect(failure?.code == .secureConnectionFailed)
    }

    @Test func anExchangeEndsTheRest() async throws {
        connection.rest(for: 100)
        connection.begin(idleTimeout: .infinity)
        #expect(connection.checkTimeout(now: pulse_monotonic_now() + 200) == .infinity)
        pair.finish()
        turn()
        #expect(pair.isOpen)
        #expect(try await connection.read() == nil)
    }

    // MARK: Whole bodies

    /// Pieces of a body, with as many bytes as the socket has room for.
    private func pieces(of body: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: body.count, by: 20_000).map { body[$0..<min($0 + 20_000, body.count)] }
    }

    /// Begins to read on the loop, or beside it.
    private func reader(of count: Int, after begun: [UInt8] = []) -> Task<Data?, any Error> {
        let reader = Task.startingNow { [connection] in try await connection.read(Data(begun), upTo: count) }
        turn()
        return reader
    }

    /// Takes turns until the task, which may run on the loop, has ended.
    private func result(of reader: Task<Data?, any Error>) async -> Result<Data?, any Error> {
        let result = Locked<Result<Data?, any Error>?>(nil)
        let waiter = Task {
            let outcome = await reader.result
            result.withLock { $0 = outcome }
        }
        while result.withLock({ $0 }) == nil {
            turn()
            await Task.yield()
        }
        await waiter.value
        return await reader.result
    }

    /// Also into memory that grows: the announced length is trusted up to 1 MiB.
    @Test(arguments: [false, true], [100_000, 1_500_000])
    func aWholeBodyIsReadByTheLoopOrItsTask(isAlone: Bool, count: Int) async throws {
        if !isAlone { #expect(loop.core.beginFilling()) }
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) }
        let pieces = pieces(of: body)
        let reader = reader(of: body.count, after: Array(pieces[0]))
        for piece in pieces.dropFirst() {
            pair.say(Array(piece))
            // Where memory is added, the task reads the rest.
            while !pair.isTaken {
                turn()
                await Task.yield()
            }
        }
        // What follows is left.
        pair.say([1, 2])
        #expect(try await result(of: reader).get() == Data(body))
        #expect(loop.core.beginFilling() == isAlone)
        #expect(try await connection.read() == Data([1, 2]))
    }

    @Test(arguments: [false, true]) func theLoopFillsOneBodyAtATime(isAlone: Bool) async throws {
        if !isAlone { #expect(loop.core.beginFilling()) }
        let reader = reader(of: 4)
        pair.say([1, 2])
        let event = pulse_poller_event(number: 0, is_readable: true, is_writable: false, has_ended: false)
        var waiters: [SocketConnection.Waiter] = []
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { buffer in
            connection.handle(event, with: buffer, now: pulse_monotonic_now(), &waiters)
        }
        #expect(waiters.isEmpty == isAlone && pair.isTaken == isAlone)
        for waiter in waiters { waiter.resume() }
        pair.say([3, 4])
        #expect(try await result(of: reader).get() == Data([1, 2, 3, 4]))
    }

    @Test(arguments: [false, true]) func aWholeBodyThatStallsTimesOut(isAlone: Bool) async throws {
        if !isAlone { #expect(loop.core.beginFilling()) }
        connection.begin(idleTimeout: 3600)
        let reader = reader(of: 4, after: [0])
        pair.say([1])
        turn()
        // Until its task waits again.
        let now = pulse_monotonic_now()
        while !pair.isTaken || connection.checkTimeout(now: now) == .infinity { await Task.yield() }
        #expect(connection.checkTimeout(now: now + 7200) == .infinity)
        let result = await result(of: reader)
        let failure = #expect(throws: TransportFailure.self) { try result.get() }
        #expect(failure?.code == .timedOut)
        #expect(loop.core.beginFilling() == isAlone)
    }

    @Test func aWholeBodyEndsWithTheThread() async throws {
        let running = try SocketLoop()
        let connections = try (0..<2).map { _ in
            let pair = try SocketPair()
            pair.say([1, 2])
            return (pair, try running.connection(SocketChannel(pair.near), remoteAddress: nil))
        }
        let readers = connections.map { pair, connection in
            Task.startingNow { try await connection.read(Data(), upTo: 4) }
        }
        while !connections.allSatisfy({ $0.0.isTaken }) { await Task.yield() }
        await running.shutdown()
        for reader in readers { await #expect(throws: CancellationError.self) { try await reader.value } }
    }

    @Test(arguments: [false, true]) func anEndWithinAWholeBodyIsNoBody(isAlone: Bool) async throws {
        if !isAlone { #expect(loop.core.beginFilling()) }
        let reader = reader(of: 4, after: [0])
        pair.say([1, 2])
        turn()
        pair.finish()
        #expect(try await result(of: reader).get() == nil)
    }

    @Test func aResetWithinAWholeBodyFails() async throws {
        connection.send(Data([7]), ifIdle: false, isBatched: false)
        let reader = reader(of: 4, after: [0])
        pair.cut()
        let result = await result(of: reader)
        let failure = #expect(throws: TransportFailure.self) { try result.get() }
        #expect(failure?.code == .networkConnectionLost)
        #expect(loop.core.beginFilling())
    }

    @Test func aCancelledReadOfAWholeBodyFreesIt() async throws {
        let reader = reader(of: 4, after: [0])
        pair.say([1, 2])
        turn()
        reader.cancel()
        let result = await result(of: reader)
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(loop.core.beginFilling())
        // Its connection is closed by the exchange; until then it reads as any other.
        pair.say([3])
        turn()
        #expect(try await connection.read() == Data([3]))
    }

    @Test func aPieceOfAWholeBodyMovesTheDeadline() async throws {
        connection.begin(idleTimeout: 3600)
        let reader = reader(of: 4)
        let now = pulse_monotonic_now()
        pair.say([1])
        turn()
        #expect(connection.checkTimeout(now: now + 3599) >= now + 3600)
        connection.close()
        let result = await result(of: reader)
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test func aCancelledReadLosesNoBytes() async throws {
        let cancelled = reader()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        pair.say([1])
        turn()
        #expect(try await connection.read() == Data([1]))
    }

    @Test func aReadByACancelledTaskReadsNothing() async throws {
        pair.say([1])
        turn()
        await #expect(throws: CancellationError.self) {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await connection.read()
        }
        let next = Task { [connection] in try await connection.read() }
        #expect(try await next.value == Data([1]))
    }

    @Test func aSecondReaderIsRefused() async throws {
        let first = reader()
        await #expect(throws: PulseError.self) { try await connection.read() }
        pair.say([1])
        turn()
        #expect(try await first.value == Data([1]))
    }

    // MARK: Closing

    @Test func closingEndsWaitsAndAllThatFollows() async throws {
        let reader = reader()
        connection.close()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await #expect(throws: CancellationError.self) { try await connection.read() }
        await #expect(throws: CancellationError.self) { try await connection.write(Data([1])) }
        #expect(!pair.isOpen)
        connection.close()
        connection.finishWriting()
        turn()
    }

    @Test func aReleasedConnectionIsClosedAndItsNumberIsUsedAgain() async throws {
        let pairs = try [SocketPair(), SocketPair()]
        var released: SocketConnection? = try loop.connection(SocketChannel(pairs[0].near), remoteAddress: nil)
        #expect(released != nil && pairs[0].isOpen)
        pairs[0].say([9])
        released = nil
        #expect(!pairs[0].isOpen)
        let successor = try loop.connection(SocketChannel(pairs[1].near), remoteAddress: nil)
        #expect(loop.core.capacity == 2)
        let reader = Task.startingNow { try await successor.read() }
        turn()
        pairs[1].say([1])
        turn()
        #expect(try await reader.value == Data([1]))
    }

    @Test func aClosedLoopRefusesConnections() throws {
        let other = try SocketPair()
        loop.core.close()
        #expect(throws: CancellationError.self) { try loop.connection(SocketChannel(other.near), remoteAddress: nil) }
        #expect(!other.isOpen)
    }

    @Test func aShutdownClosesConnectionsAndEndsTheThread() async throws {
        let (running, other) = (try SocketLoop(), try SocketPair())
        let connection = try running.connection(SocketChannel(other.near), remoteAddress: nil)
        let reader = Task.startingNow { try await connection.read() }
        await running.shutdown()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(!other.isOpen)
        await running.shutdown()
    }

    @Test func aFileThatCannotBeWatchedIsRefused() throws {
        // epoll refuses files that are always ready.
        let failure = #expect(throws: TransportFailure.self) {
            try loop.connection(SocketChannel(open("/dev/null", O_RDWR)), remoteAddress: nil)
        }
        #expect(failure?.code == .resourceUnavailable)
    }

    // MARK: Writing

    // Not static: the leak check of the address sanitizer does not see memory that only a global `Data` refers to.
    private let large = Data(repeating: 7, count: 4 << 20)

    @Test func aWriteReturnsWhenTheSystemHasAllBytes() async throws {
        try await connection.write(Data([1, 2]))
        try await connection.write(Data())
        #expect(pair.taken() == [1, 2])
        #expect(connection.sent.count == 2)
    }

    @Test func aWriteWaitsForRoom() async throws {
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        #expect(connection.sent.count < large.count)
        var count = 0
        while count < large.count {
            count += pair.taken().count
            turn()
        }
        try await writer.value
        #expect(connection.sent.count == large.count)
    }

    @Test func aSecondWriterIsRefused() async throws {
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        await #expect(throws: PulseError.self) { try await connection.write(Data([1])) }
        connection.close()
        await #expect(throws: CancellationError.self) { try await writer.value }
    }

    @Test func aCancelledWriteClosesTheConnectionIfPartOfItIsSent() async throws {
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        await #expect(throws: CancellationError.self) { try await connection.read() }
    }

    @Test func aWriteCancelledBeforeItsFirstByteIsTakenBack() async throws {
        pair.fill()
        let writer = Task.startingNow { [connection] in try await connection.write(Data([2])) }
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        _ = pair.taken()
        turn()
        #expect(pair.taken() == [])
        try await connection.write(Data([3]))
        #expect(pair.taken() == [3])
    }

    @Test func aWriteToAClosedConnectionFailsBeforeItsFirstByte() async throws {
        pair.cut()
        let failure = await #expect(throws: TransportFailure.self) { try await connection.write(Data([1])) }
        #expect(failure?.code == .networkConnectionLost && failure?.phase == .beforeSend)
    }

    @Test func aResponseBeforeAFailedWriteIsRead() async throws {
        pair.say([1])
        pair.cut()
        connection.send(Data([7]), ifIdle: false, isBatched: false)
        #expect(try await connection.read() == Data([1]))
        await #expect(throws: TransportFailure.self) {
            while try await connection.read() != nil {}
            // The end is read first where the system reports the failed write alone.
            try await connection.write(Data([8]))
        }
    }

    @Test func oneTaskReadsWhileAnotherWrites() async throws {
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        let reader = reader()
        pair.say([1])
        turn()
        #expect(try await reader.value == Data([1]))
        var count = 0
        while count < large.count {
            count += pair.taken().count
            turn()
        }
        try await writer.value
    }

    @Test(arguments: [1, 4 << 20])
    func finishingEndsTheDirectionAfterTheBytes(_ size: Int) async throws {
        connection.send(Data(repeating: 7, count: size), ifIdle: false, isBatched: false)
        connection.finishWriting()
        var count = 0
        while count < size {
            count += pair.taken().count
            turn()
        }
        #expect(pair.isFinished)
        pair.say([1])
        turn()
        #expect(try await connection.read() == Data([1]))
        await #expect(throws: TransportFailure.self) { try await connection.write(Data([1])) }
    }

    @Test func aWriteOfNothingReturns() async throws {
        pair.fill()
        try await connection.write(Data())
    }

    /// Between the loop's work for a task and the task's next step, another task must not take its place.
    @Test func aTaskReadsOrWritesUntilItsCallReturns() throws {
        let other = try SocketPair()
        defer { close(other.near) }
        var state = SocketConnection.State(SocketChannel(other.near))
        #expect(try state.read(isAgain: false) == nil)
        other.say([1])
        state.reading.isReadable = true
        #expect(throws: PulseError.self) { try state.read(isAgain: false) }
        #expect(try state.read(isAgain: true) != nil)
        #expect(try state.read(isAgain: false) == nil)

        #expect(try state.writeNow(large) == .waits)
        while state.writing.isSending {
            _ = other.taken()
            state.flush()
        }
        #expect(throws: PulseError.self) { try state.write(Data([1])) }
        #expect(try state.continueWriting() == .returns)
        #expect(try state.writeNow(Data([1])) == .returns)
    }

    /// A failure of earlier bytes, or of a read, says nothing about bytes of which none is sent.
    @Test(arguments: [false, true])
    func aWriteAfterALossIsUnsent(isNoticedByARead: Bool) throws {
        let other = try SocketPair()
        var state = SocketConnection.State(SocketChannel(other.near))
        #expect(try state.writeNow(isNoticedByARead ? Data([1]) : large) == (isNoticedByARead ? .returns : .waits))
        // Unread bytes make it a reset.
        other.cut()
        if isNoticedByARead {
            state.reading.isReadable = true
            #expect(throws: TransportFailure.self) { try state.read(isAgain: false) }
        } else {
            state.flush()
            let failure = #expect(throws: TransportFailure.self) { try state.continueWriting() }
            #expect(failure?.phase == .maybeSent)
        }
        for _ in 0..<2 {
            let failure = #expect(throws: TransportFailure.self) { try state.write(Data([1])) }
            #expect(failure?.code == .networkConnectionLost && failure?.phase == .beforeSend)
        }
        // Closing replaces the failure.
        #expect(state.close(loop.core.poller).isEmpty)
        #expect(throws: CancellationError.self) { try state.write(Data([1])) }
        #expect(throws: CancellationError.self) { try state.read(isAgain: false) }
    }

    // MARK: Upgrades

    @Test(arguments: [false, true])
    func anUpgradedConnectionReturnsTheUnreadBytesFirst(hasArrived: Bool) async throws {
        if hasArrived {
            pair.say([3])
            turn()
        }
        connection.upgrade(unread: Data([1, 2]))
        #expect(try await connection.read() == Data([1, 2]))
        if !hasArrived { pair.say([3]) }
        pair.finish()
        turn()
        #expect(try await connection.read() == Data([3]))
        #expect(try await connection.read() == nil)
    }

    @Test func aClosedConnectionDropsTheUnreadBytes() async throws {
        connection.upgrade(unread: Data([1, 2]))
        connection.close()
        await #expect(throws: CancellationError.self) { try await connection.read() }
        connection.upgrade(unread: Data([1, 2]))
        await #expect(throws: CancellationError.self) { try await connection.read() }
    }

    @Test func anUpgradedConnectionHasNoTimeout() async throws {
        connection.begin(idleTimeout: 5)
        connection.upgrade(unread: Data())
        let reader = reader()
        #expect(connection.checkTimeout(now: future) == .infinity)
        pair.say([1])
        turn()
        #expect(try await reader.value == Data([1]))
    }

    // MARK: Batched sends

    @Test func aBatchedSendHappensOnTheLoop() async throws {
        connection.send(Data([7, 8]), ifIdle: true, isBatched: true)
        #expect(pair.taken() == [])
        let reader = reader()
        turn()
        #expect(pair.taken() == [7, 8])
        #expect(connection.sent.count == 2)
        pair.say([9])
        turn()
        #expect(try await reader.value == Data([9]))
        turn()
        #expect(pair.taken() == [])
    }

    @Test func aBatchedSendOfAClosedConnectionDoesNotHappen() async throws {
        connection.send(Data([7]), ifIdle: false, isBatched: true)
        connection.close()
        turn()
        #expect(connection.sent.count == 0)
        #expect(pair.taken() == [])
    }

    @Test func aBatchedSendThatFailsEndsTheWait() async throws {
        connection.finishWriting()
        connection.send(Data([7]), ifIdle: false, isBatched: true)
        let reader = reader()
        turn()
        let failure = await failure(of: reader)
        #expect((failure?.underlying as? POSIXError)?.code == .EPIPE)
        #expect(failure?.phase == .beforeSend && failure?.isStaleConnection == false)
    }

    @Test func theLoopWaitsForRoomForABatchedSend() async throws {
        connection.send(large, ifIdle: true, isBatched: true)
        let reader = reader()
        var count = 0
        while count < large.count {
            turn()
            count += pair.taken().count
        }
        pair.say([9])
        turn()
        #expect(try await reader.value == Data([9]))
    }

    // MARK: Idle connections

    @Test(arguments: [false, true], [false, true])
    func nothingIsSentOnAConnectionThatIsNotIdle(hasEnded: Bool, isBatched: Bool) async throws {
        if hasEnded { pair.finish() } else { pair.say([9]) }
        connection.send(Data([7]), ifIdle: true, isBatched: isBatched)
        let reader = reader()
        turn()
        let failure = await failure(of: reader)
        #expect(failure?.isStaleConnection == true && failure?.phase == .beforeSend)
        #expect(connection.sent.count == 0)
        #expect(pair.taken() == [])
    }

    /// The bytes arrive between the request and its turn on the loop: they are no response to it.
    @Test(arguments: [false, true])
    func bytesFromBeforeABatchedSendAreNotItsResponse(isEnd: Bool) async throws {
        connection.send(Data([7]), ifIdle: true, isBatched: true)
        let reader = reader()
        if isEnd { pair.finish() } else { pair.say([9]) }
        turn()
        #expect(await failure(of: reader)?.isStaleConnection == true)
        #expect(pair.taken() == [])
    }

    @Test func aNewConnectionsFirstBytesAreItsResponse() async throws {
        pair.say([9])
        connection.send(Data([7]), ifIdle: false, isBatched: true)
        let reader = reader()
        turn()
        #expect(try await reader.value == Data([9]))
    }

    @Test func anExchangeCountsItsOwnBytes() async throws {
        connection.send(Data([7, 8]), ifIdle: true, isBatched: false)
        connection.begin(idleTimeout: 5)
        #expect(connection.sent.count == 0)
        connection.send(Data([7]), ifIdle: true, isBatched: false)
        #expect(connection.sent.count == 1)
    }

    // MARK: Timeouts

    private var future: TimeInterval { pulse_monotonic_now() + 1000 }

    @Test func aWaitTimesOutWhenNothingHappens() async throws {
        connection.begin(idleTimeout: 600)
        let reader = reader()
        let start = pulse_monotonic_now()
        let next = connection.checkTimeout(now: start)
        #expect(next > start && next <= start + 600)
        #expect(connection.checkTimeout(now: next) == .infinity)
        #expect(await failure(of: reader)?.code == .timedOut)
        #expect(connection.checkTimeout(now: future) == .infinity)
    }

    @Test func aConnectionWithoutAWaitDoesNotTimeOut() async throws {
        connection.begin(idleTimeout: 5)
        #expect(connection.checkTimeout(now: future) == .infinity)
        pair.say([1])
        turn()
        #expect(try await connection.read() == Data([1]))
    }

    /// After a suspension of the process, the response and the timeout may come together.
    @Test func anArrivedResponsePreventsATimeout() async throws {
        connection.begin(idleTimeout: 5)
        let reader = reader()
        turn()
        pair.say([9])
        #expect(connection.checkTimeout(now: future) == .infinity)
        #expect(try await reader.value == Data([9]))
    }

    @Test(arguments: [false, true])
    func anUnsentRequestTimesOut(hasUnsolicitedBytes: Bool) async throws {
        connection.begin(idleTimeout: 5)
        if hasUnsolicitedBytes { pair.say([9]) }
        connection.send(Data([7]), ifIdle: true, isBatched: true)
        let reader = reader()
        _ = connection.checkTimeout(now: future)
        #expect(await failure(of: reader)?.code == .timedOut)
        turn()
        #expect(pair.taken() == [])
    }

    @Test func aWriteTimesOut() async throws {
        connection.begin(idleTimeout: 5)
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        _ = connection.checkTimeout(now: future)
        let failure = await #expect(throws: TransportFailure.self) { try await writer.value }
        #expect(failure?.code == .timedOut)
    }

    /// Unread bytes are a sign of life only while they may be read.
    @Test(arguments: [false, true])
    func unreadBytesHideATimeoutOfAWriteUntilReadingEnds(hasEnded: Bool) async throws {
        connection.begin(idleTimeout: 5)
        pair.say([9])
        let writer = Task.startingNow { [connection, large] in try await connection.write(large) }
        if hasEnded { connection.endReading() }
        _ = connection.checkTimeout(now: future)
        if hasEnded {
            let failure = await #expect(throws: TransportFailure.self) { try await writer.value }
            #expect(failure?.code == .timedOut)
        } else {
            #expect(try await connection.read() == Data([9]))
            connection.close()
            await #expect(throws: CancellationError.self) { try await writer.value }
        }
    }

    /// A stream's reader may pause for longer than the timeout.
    @Test func theTimeWithoutAReaderDoesNotCount() async throws {
        connection.begin(idleTimeout: 600)
        let begun = pulse_monotonic_now()
        let reader = reader()
        let next = connection.checkTimeout(now: begun)
        #expect(next >= begun + 600)
        pair.say([1])
        turn()
        #expect(try await reader.value == Data([1]))
    }

    // MARK: Streams

    /// The first read shows that the stream is fast; the next one takes more than the usual piece.
    @Test func aFastStreamIsReadInLargePieces() async throws {
        connection.beginStreaming()
        let sent = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        pair.say(Array(sent[..<100_000]))
        turn()
        let first = try #require(try await connection.read())
        pair.say(Array(sent[100_000...]))
        turn()
        let second = try #require(try await connection.read())
        #expect(first.count == 64 << 10 && second.count == sent.count - first.count)
        #expect(Array(first + second) == sent)
        // A chunk that is kept does not change when its memory would be used again.
        connection.endReading()
        connection.begin(idleTimeout: .infinity)
        pair.say([UInt8](repeating: 1, count: 90_000))
        turn()
        _ = try await connection.read()
        #expect(second.elementsEqual(sent[first.count...]))
    }

    @Test func theLoopLeavesAStreamToItsReader() async throws {
        connection.beginStreaming()
        let reader = reader()
        pair.say([1, 2, 3, 4, 5])
        turn(room: 4)
        #expect(try await reader.value == Data([1, 2, 3, 4, 5]))
    }

    @Test func theLoopChecksTimeoutsByItself() async throws {
        connection.begin(idleTimeout: -1)
        let reader = reader()
        turn()
        #expect(await failure(of: reader)?.code == .timedOut)
    }
}
#endif
