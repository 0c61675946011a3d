// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The files of a download, with damage and with disks that fail.
@Suite(.throttled)
struct PartialFileTests {
    private static let data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    private static let old = Data("old".utf8)

    private struct Fetch: Endpoint {
        typealias Response = Data
        let path = "https://api.example.com/file"
    }

    /// A directory with an old target.
    private static func withTarget(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer {
            chmod(directory.path, 0o700)
            try? FileManager.default.removeItem(at: directory)
        }
        let target = directory.appendingPathComponent("file.bin")
        try old.write(to: target)
        try await body(target)
    }

    private static func client(_ stub: Stub.Reply = .file(data, etag: "\"a\"")) -> (PulseClient, MockTransport) {
        let transport = MockTransport(stubs: [Stub().reply(stub)])
        let client = ClientStage.client(PulseConfiguration(), clock: TestClock(), over: transport)
        return (client, transport)
    }

    /// A download on that disk; returns its failure.
    private static func download(
        to target: URL, on disk: Disk = .system, _ options: Download.Options = Download.Options()
    ) async -> PulseError? {
        let (client, _) = client()
        let run = DownloadRun(.file(target), options, .none, disk: disk, progress: nil)
        do {
            _ = try await client.perform(
                client.plan(Fetch(), RequestOptions(), CallShape(delivery: .streamed, carrier: run)))
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }

    private static func content(_ file: URL) -> Data? { try? Data(contentsOf: file) }

    private static func names(_ target: URL) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: target.deletingLastPathComponent().path).sorted()
    }

    // MARK: The state

    private static func state(length: Int) -> PartialState {
        var content = DownloadedContent()
        content.entityTag = "\"a\""
        content.total = Int64(data.count)
        return PartialState(
            key: SystemHashes.library?.sha256("https://api.example.com/file")?.hex, account: nil, content: content,
            length: Int64(length))
    }

    @Test func aStateHasNoURLAndNoSecret() throws {
        let text = String(decoding: try JSONEncoder().encode(Self.state(length: 5)), as: UTF8.self)
        #expect(!text.contains("example") && !text.contains("http"))
    }

    /// The stored bytes are of the content, of another one, or fewer than the state says.
    @Test(arguments: [data.prefix(60_000), Data(repeating: 9, count: 60_000), data.prefix(10), Data()], [true, false])
    func theFileIsRightWhateverTheStateIs(stored: Data, isDamaged: Bool) async throws {
        try await Self.withTarget { target in
            let partial = target.deletingLastPathComponent().appendingPathComponent(".file.bin.part")
            let isOfContent = Self.data.starts(with: stored)
            let stateFile = URL(fileURLWithPath: partial.path + "-state")
            try Self.state(length: 60_000).write(stateFile.path, using: .system)
            var bytes = try Data(contentsOf: stateFile)
            // Bytes of another content are never counted by a whole state: those were removed first.
            let damages = isDamaged || !isOfContent ? Array(stride(from: 0, to: bytes.count, by: 9)) : [-1]
            for index in damages {
                if index >= 0 { bytes[index] ^= 4 }
                try stored.write(to: partial)
                try bytes.write(to: stateFile)
                if index >= 0 { bytes[index] ^= 4 }
                let (client, transport) = Self.client()
                try await client.download(Fetch(), to: target)
                #expect(Self.content(target) == Self.data)
                #expect(Self.names(target) == ["file.bin"])
                let isResumed = index < 0 && stored.count == 60_000
                #expect(transport.requests.map { $0.header("Range") } == [isResumed ? "bytes=60000-" : nil])
            }
        }
    }

    /// A crash after the first bytes of another content must not find the state of the one before.
    @Test func aCutLeavesNoStateOfWhatWasStored() async throws {
        try await Self.withTarget { target in
            let place = try DownloadPlace(file: target)
            let state = Self.state(length: 0)
            var partial: PartialFile? = try await PartialFile.open(at: place, key: state.key, using: .system)
            try await partial?.append(Self.data.prefix(60_000), of: nil)
            try await partial?.keep(state)
            partial = nil
            partial = try await PartialFile.open(at: place, key: state.key, using: .system)
            #expect(partial?.stored?.length == 60_000)
            try await partial?.cut(to: 0)
            try await partial?.append(Data(count: 300_000), of: nil)
            partial = nil
            partial = try await PartialFile.open(at: place, key: state.key, using: .system)
            #expect(partial?.stored == nil)
            #expect(FileManager.default.fileExists(atPath: place.state) == false)
        }
    }

    // MARK: The disk

    /// The failure of a call, as a disk reports it.
    private static func failing<Value>(_ code: Int32, _ value: Value) -> Value {
        errno = code
        return value
    }

    private static func expect(
        _ error: PulseError?, _ expected: TransferFailure, _ location: SourceLocation = #_sourceLocation
    ) {
        guard case .transport(.cannotWriteToFile, let failure as TransferFailure) = error else {
            Issue.record("\(String(describing: error))", sourceLocation: location)
            return
        }
        #expect(failure == expected, sourceLocation: location)
    }

    @Test func aFullDiskKeepsTheOldFileAndWhatCame() async throws {
        try await Self.withTarget { target in
            var disk = Disk.system
            let room: Int64 = 40_000
            disk.write = { descriptor, bytes, offset in
                guard offset < room else { return Self.failing(ENOSPC, -1) }
                return Disk.system.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(room - offset))), offset)
            }
            Self.expect(await Self.download(to: target, on: disk), .noSpace(needed: 100_000))
            #expect(Self.content(target) == Self.old)
            disk = .system
            disk.freeSpace = { _ in 99_999 }
            Self.expect(await Self.download(to: target, on: disk), .noSpace(needed: 100_000))
            #expect(Self.content(target) == Self.old)
            disk.freeSpace = { _ in nil }
            #expect(await Self.download(to: target, on: disk) == nil)
            #expect(Self.content(target) == Self.data)
        }
    }

    private static let pieceSize = 256 << 10
    private static let lost = PulseError.transport(
        .networkConnectionLost, underlying: URLError(.networkConnectionLost))

    /// A download of so many pieces that its bytes are written and synced on the way, then a response for the rest.
    private static func downloadInPieces(
        _ count: Int, to target: URL, on disk: Disk = .system, failure: (any Error)? = nil,
        then rest: @escaping @Sendable (URLRequest) throws -> PulseResponse = { _ in throw PulseError.noConnection },
        options: RequestOptions = RequestOptions().with(\.retry, value: RetryPolicy.none),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async -> (error: PulseError?, ranges: [String?]) {
        let isFirst = Locked(true)
        let transport = MockTransport(stubs: [
            Stub().reply(
                .closure { request, clock in
                    let wasFirst = isFirst.withLock { isFirst in
                        defer { isFirst = false }
                        return isFirst
                    }
                    guard wasFirst else { return try rest(request) }
                    let rest = Locked((0..<count)[...])
                    var response = PulseResponse(
                        statusCode: 200, headers: ["ETag": "\"a\""], request: request, origin: .mock)
                    response.body = .stream(
                        ByteStream {
                            if let number = rest.withLock({ $0.popFirst() }) {
                                return Data(repeating: UInt8(number), count: Self.pieceSize)
                            }
                            if let failure { throw failure }
                            return nil
                        })
                    return response
                })
        ])
        let client = ClientStage.client(
            PulseConfiguration(), clock: TestClock(autoAdvances: true), over: transport)
        let run = DownloadRun(.file(target), Download.Options(), .default, disk: disk, progress: progress)
        do {
            _ = try await client.perform(client.plan(Fetch(), options, CallShape(delivery: .streamed, carrier: run)))
            return (nil, transport.requests.map { $0.header("Range") })
        } catch {
            return (PulseError(wrapping: error), transport.requests.map { $0.header("Range") })
        }
    }

    @Test func whatCameBeforeAFullDiskIsKept() async throws {
        try await Self.withTarget { target in
            var disk = Disk.system
            disk.write = { descriptor, bytes, offset in
                guard offset < 3 * Int64(Self.pieceSize) else { return Self.failing(ENOSPC, -1) }
                return Disk.system.write(descriptor, bytes, offset)
            }
            Self.expect(
                await Self.downloadInPieces(5, to: target, on: disk).error, .noSpace(needed: Int64(Self.pieceSize)))
            let place = try DownloadPlace(file: target)
            #expect(PartialState.read(place.state, using: .system)?.length == Int64(3 * Self.pieceSize))
            #expect(Self.content(target) == Self.old)
        }
    }

    /// An earlier state stays, if no later one can be written.
    @Test func aStateThatCannotBeWrittenLeavesTheOneBefore() async throws {
        try await Self.withTarget { target in
            let states = Locked(0)
            var disk = Disk.system
            disk.rename = { from, to in
                let count = states.withLock { states in
                    states += to.hasSuffix("-state") ? 1 : 0
                    return states
                }
                return count > 1 ? Self.failing(EIO, -1) : Disk.system.rename(from, to)
            }
            let result = await Self.downloadInPieces(
                20, to: target, on: disk, failure: Self.lost)
            #expect(result.error != nil)
            let place = try DownloadPlace(file: target)
            let length = try #require(PartialState.read(place.state, using: .system)?.length)
            #expect(length >= Int64(PartialFile.syncDistance / 2) && length < Int64(20 * Self.pieceSize))
        }
    }

    /// Pieces that do not divide the distance count in full, and the first sync takes long.
    @Test func noMoreThanTheDistanceIsUnsynced() async throws {
        try await Self.withTarget { target in
            let (written, synced, most) = (Locked(0), Locked(0), Locked(0))
            let isBeyond = DispatchSemaphore(value: 0)
            var disk = Disk.system
            disk.write = { descriptor, bytes, offset in
                let end = Int(offset) + bytes.count
                written.withLock { $0 = end }
                let unsynced = end - synced.withLock { $0 }
                most.withLock { $0 = max($0, unsynced) }
                if unsynced > PartialFile.syncDistance { isBeyond.signal() }
                return Disk.system.write(descriptor, bytes, offset)
            }
            disk.sync = { descriptor in
                let end = written.withLock { $0 }
                // A write that does not wait for the sync comes meanwhile.
                if synced.withLock({ $0 == 0 }) { _ = isBeyond.wait(timeout: .now() + 0.5) }
                defer { synced.withLock { $0 = max($0, end) } }
                return Disk.system.sync(descriptor)
            }
            let partial = try await PartialFile.open(at: DownloadPlace(file: target), key: "a", using: disk)
            let chunk = Data(repeating: 1, count: 165 << 10)
            for _ in 0..<100 {
                try await partial.append(chunk, of: nil)
                try await partial.syncIfDue(Self.state(length: 1))
            }
            #expect(most.withLock { $0 } <= PartialFile.syncDistance)
            await partial.drop()
        }
    }

    /// The system reports lost bytes once, and the next sync succeeds.
    @Test(arguments: [true, false]) func lostBytesAreNeverPutInPlaceOrKept(isWhole: Bool) async throws {
        try await Self.withTarget { target in
            let syncs = Locked(0)
            var disk = Disk.system
            disk.sync = { descriptor in
                let isFirst = syncs.withLock { syncs in
                    syncs += 1
                    return syncs == 1
                }
                return isFirst ? Self.failing(EIO, -1) : Disk.system.sync(descriptor)
            }
            let result = await Self.downloadInPieces(
                20, to: target, on: disk, failure: isWhole ? nil : Self.lost)
            #expect(result.error != nil)
            #expect(Self.content(target) == Self.old)
            #expect(Self.names(target) == ["file.bin"])
        }
    }

    /// A crash may come between the two steps that put a file in place without replacing another.
    @Test func aSecondNameOfAFileInPlaceIsNotWritten() async throws {
        try await Self.withTarget { target in
            let place = try DownloadPlace(file: target)
            #expect(link(target.path, place.partial) == 0)
            try Self.state(length: Self.old.count).write(place.state, using: .system)
            let failure = Self.lost
            let result = await Self.downloadInPieces(2, to: target, failure: failure)
            #expect(result.error != nil && result.ranges.first == .some(nil))
            #expect(Self.content(target) == Self.old)
            #expect(await Self.download(to: target) == nil)
            #expect(Self.content(target) == Self.data)
        }
    }

    /// What another program may have put in the place of a file of ours.
    enum Planted: CaseIterable { case link, danglingLink, pipe, openFile }

    @Test(arguments: Planted.allCases)
    func whatIsPlantedIsNeitherFollowedNorWaitedFor(_ planted: Planted) async throws {
        try await Self.withTarget { target in
            let other = target.deletingLastPathComponent().appendingPathComponent("other")
            let place = try DownloadPlace(file: target)
            let standard = place.standardPermissions()
            for path in [place.partial, place.state, SystemFile.next(place.state), place.partial + "-mode"] {
                try? FileManager.default.removeItem(at: other)
                try Self.old.write(to: target)
                switch planted {
                case .link:
                    try Self.old.write(to: other)
                    #expect(symlink(other.path, path) == 0)
                case .danglingLink: #expect(symlink(other.path, path) == 0)
                case .pipe: #expect(mkfifo(path, 0o666) == 0)
                case .openFile: #expect(close(open(path, O_WRONLY | O_CREAT, 0o600)) == 0 && chmod(path, 0o777) == 0)
                }
                let failure = await Self.download(to: target)
                let isRefused = path == place.partial && planted != .openFile
                #expect((failure != nil) == isRefused, "\(path): \(String(describing: failure))")
                #expect(Self.content(target) == (isRefused ? Self.old : Self.data), "\(path)")
                #expect(Self.content(other) == (planted == .link ? Self.old : nil), "\(path)")
                if !isRefused { #expect(Self.permissions(target) == Int(standard), "\(path)") }
                unlink(path)
            }
        }
    }

    /// Only root can give a file away.
    @Test(.enabled(if: geteuid() == 0)) func whatAnotherUserHasStoredIsNotContinued() async throws {
        try await Self.withTarget { target in
            let place = try DownloadPlace(file: target)
            try Data(repeating: 1, count: 60_000).write(to: URL(fileURLWithPath: place.partial))
            try Self.state(length: 60_000).write(place.state, using: .system)
            #expect(chown(place.partial, 65_534, getegid()) == 0)
            let (client, transport) = Self.client(.file(Self.data, etag: "\"a\""))
            try await client.download(Fetch(), to: target)
            #expect(transport.requests.map { $0.header("Range") } == [nil])
            #expect(Self.content(target) == Self.data)
            let attributes = try FileManager.default.attributesOfItem(atPath: target.path)
            #expect(attributes[.ownerAccountID] as? Int == Int(geteuid()))
            await client.shutdown()
        }
    }

    /// A crash has left bytes that no state counts behind the whole content, whose length was not known.
    @Test func bytesBehindTheContentAreCut() async throws {
        try await Self.withTarget { target in
            let place = try DownloadPlace(file: target)
            var state = Self.state(length: 60_000)
            state.content.total = nil
            try Data(Self.data.prefix(60_000) + [1, 2, 3]).write(to: URL(fileURLWithPath: place.partial))
            try state.write(place.state, using: .system)
            let (client, transport) = Self.client(.file(Self.data.prefix(60_000), etag: "\"a\""))
            let heard = Locked<[TransferProgress]>([])
            try await client.download(Fetch(), to: target) { progress in heard.withLock { $0.append(progress) } }
            #expect(transport.requests.map { $0.header("Range") } == ["bytes=60000-"])
            #expect(Self.content(target) == Self.data.prefix(60_000))
            #expect(heard.withLock { $0.last?.completed } == 60_000)
        }
    }

    /// Another program cleans up, and another download begins, before the first one ends.
    @Test func aPartialFileOfAnotherIsNotPutInPlace() async throws {
        try await Self.withTarget { target in
            let place = try DownloadPlace(file: target)
            var disk = Disk.system
            disk.freeSpace = { _ in
                unlink(place.partial)
                try? Data("another".utf8).write(to: URL(fileURLWithPath: place.partial))
                return nil
            }
            Self.expect(await Self.download(to: target, on: disk), .unusableDestination)
            #expect(Self.content(target) == Self.old)
        }
    }

    @Test func aWaitBeyondTheDeadlineIsNotMade() async throws {
        try await Self.withTarget { target in
            let options = RequestOptions().with(\.retry, value: RetryPolicy.none).with(\.deadline, value: 5)
            let result = await Self.downloadInPieces(
                1, to: target, failure: Self.lost,
                then: { PulseResponse(statusCode: 503, headers: ["Retry-After": "50"], request: $0, origin: .mock) },
                options: options)
            #expect(result.error?.kind == .http && result.error?.statusCode == 503)
            #expect(result.ranges == [nil, "bytes=\(Self.pieceSize)-"])
        }
    }

    @Test func aDirectoryThatRefusesIsTyped() async throws {
        try await Self.withTarget { target in
            for code in [EACCES, EROFS, ENOENT, ENOTDIR] {
                var disk = Disk.system
                disk.open = { path, flags in
                    path.hasSuffix(".part") ? Self.failing(code, -1) : systemOpen(path, flags)
                }
                Self.expect(await Self.download(to: target, on: disk), .unusableDestination)
                disk = .system
                disk.rename = { from, to in
                    to.hasSuffix(".bin") ? Self.failing(code, -1) : Disk.system.rename(from, to)
                }
                Self.expect(await Self.download(to: target, on: disk), .unusableDestination)
                #expect(Self.content(target) == Self.old)
            }
            var disk = Disk.system
            disk.sync = { _ in Self.failing(EIO, -1) }
            let error = await Self.download(to: target, on: disk)
            guard case .transport(.cannotWriteToFile, JournalFailure.system(operation: "fsync", code: EIO)) = error
            else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(Self.content(target) == Self.old)
            #expect(await Self.download(to: target) == nil)
            #expect(Self.content(target) == Self.data)
            #expect(Self.names(target) == ["file.bin"])
        }
    }

    // MARK: A disk that hangs

    enum HangingStep: CaseIterable { case open, write, sync, rename }

    /// The target changes only if the rename itself hangs, which nothing can take back.
    @Test(arguments: HangingStep.allCases, [true, false])
    func aDownloadEndsThoughItsDiskHangs(at step: HangingStep, byDeadline: Bool) async throws {
        try await Self.withTarget { target in
            let (hanging, renames) = (HangingDisk(), Locked(0))
            hanging.hang()
            var disk = Disk.system
            switch step {
            case .open:
                disk.open = { path, flags in
                    hanging.pass()
                    return systemOpen(path, flags)
                }
            case .write:
                disk.write = { descriptor, bytes, offset in
                    hanging.pass()
                    return Disk.system.write(descriptor, bytes, offset)
                }
            case .sync:
                disk.sync = { descriptor in
                    hanging.pass()
                    return Disk.system.sync(descriptor)
                }
            case .rename: break
            }
            disk.rename = { from, to in
                renames.withLock { $0 += 1 }
                if step == .rename { hanging.pass() }
                return Disk.system.rename(from, to)
            }
            let (clock, isOver) = (TestClock(), Locked(false))
            let client = ClientStage.client(
                PulseConfiguration(), clock: clock,
                over: MockTransport(stubs: [Stub().reply(.file(Self.data, etag: "\"a\""))]))
            let run = DownloadRun(.file(target), Download.Options(), .none, disk: disk, progress: nil)
            let options = RequestOptions().with(\.deadline, value: byDeadline ? 2 : nil)
            let call = Task {
                defer { isOver.withLock { $0 = true } }
                _ = try await client.perform(
                    client.plan(Fetch(), options, CallShape(delivery: .streamed, carrier: run)))
            }
            await hanging.asked()
            if byDeadline { await clock.advance(by: 2) } else { call.cancel() }
            while !isOver.withLock({ $0 }) { await clock.advance(by: 1) }
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == (byDeadline ? .deadlineExceeded : .cancelled))
            #expect(Self.content(target) == Self.old)
            hanging.respond()
            // The job that hung keeps the file locked until it ends.
            while case .transport(_, TransferFailure.busy) = await Self.download(to: target) { await Task.yield() }
            #expect(Self.content(target) == Self.data)
            #expect(renames.withLock { $0 } == (step == .rename ? 1 : 0))
        }
    }

    @Test func downloadsIntoOtherDirectoriesGoOnWhileADiskHangs() async throws {
        try await Self.withTarget { hung in
            try await Self.withTarget { target in
                let hanging = HangingDisk()
                hanging.hang()
                var disk = Disk.system
                disk.open = { path, flags in
                    hanging.pass()
                    return systemOpen(path, flags)
                }
                let calls = (0..<5).map { [disk] number in
                    Task { await Self.download(to: hung.appendingPathExtension("\(number)"), on: disk) }
                }
                await hanging.asked()
                for _ in 0..<20 { #expect(await Self.download(to: target) == nil) }
                #expect(hanging.askedCount == 1)
                hanging.respond()
                for call in calls { #expect(await call.value == nil) }
            }
        }
    }

    /// The directory takes the place of the file, or disappears, while the download runs.
    @Test(arguments: [true, false])
    func aTargetThatChangesMeanwhileIsTyped(isReplaced: Bool) async throws {
        try await Self.withTarget { target in
            var disk = Disk.system
            let directory = target.deletingLastPathComponent()
            disk.freeSpace = { _ in
                if isReplaced {
                    try? FileManager.default.removeItem(at: target)
                    mkdir(target.path, 0o700)
                } else {
                    try? FileManager.default.removeItem(at: directory)
                }
                return nil
            }
            Self.expect(await Self.download(to: target, on: disk), .unusableDestination)
        }
    }

    private static func permissions(_ file: URL) -> Int? {
        try? FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test func theFileGetsTheUsualPermissionsAndThePartialOnesNone() async throws {
        try await Self.withTarget { target in
            let permissions = Locked<[Int]>([])
            var disk = Disk.system
            let partial = target.deletingLastPathComponent().appendingPathComponent(".file.bin.part").path
            disk.freeSpace = { _ in
                let found = Self.permissions(URL(fileURLWithPath: partial))
                permissions.withLock { $0.append(found ?? 0) }
                return nil
            }
            #expect(await Self.download(to: target, on: disk) == nil)
            let other = target.appendingPathExtension("other")
            let descriptor = creat(other.path, 0o666)
            _ = close(descriptor)
            #expect(Self.permissions(target) == Self.permissions(other) && permissions.withLock { $0 } == [0o600])
        }
    }

    @Test func aDownloadThatKeepsNothingLeavesNothing() async throws {
        try await Self.withTarget { target in
            var disk = Disk.system
            disk.rename = { from, to in to.hasSuffix(".bin") ? Self.failing(EACCES, -1) : Disk.system.rename(from, to) }
            let options = Download.Options().with(\.keepsPartial, value: false)
            Self.expect(await Self.download(to: target, on: disk, options), .unusableDestination)
            #expect(Self.names(target) == ["file.bin"])
        }
    }

    @Test func aLongNameHasItsPartialToo() async throws {
        try await Self.withTarget { target in
            for count in [200, 201, 255] {
                let long = target.deletingLastPathComponent().appendingPathComponent(
                    String(repeating: "n", count: count))
                #expect(await Self.download(to: long) == nil)
                #expect(Self.content(long) == Self.data)
                try FileManager.default.removeItem(at: long)
            }
            #expect(Self.names(target) == ["file.bin"])
            let longer = target.deletingLastPathComponent().appendingPathComponent(String(repeating: "n", count: 256))
            Self.expect(await Self.download(to: longer), .unusableDestination)
        }
    }
}
