// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseNetworking

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The files of a download, with damage and with disks that fail.
@Suite(.throttled, .timeLimit(.minutes(5)))
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
        let client = PulseClient(
            configuration: PulseConfiguration().with(\.clock, value: TestClock()), transport: transport,
            events: PulseEventBus())
        return (client, transport)
    }

    /// A download on that disk; returns its failure.
    private static func download(
        to target: URL, on disk: Disk = .system, _ options: DownloadOptions = DownloadOptions()
    ) async -> PulseError? {
        let (client, _) = client()
        let run = DownloadRun(.file(target), options, .none, disk: disk, progress: nil)
        do {
            _ = try await client.send(Fetch(), RequestOptions(), delivery: .streamed, download: run) { _, _ in }
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

    @Test func everyDamageToAStateIsFound() {
        let state = Self.state(length: 5)
        let bytes = state.bytes
        #expect(PartialState(bytes) == state)
        for end in bytes.indices { #expect(PartialState(Array(bytes[..<end])) == nil) }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                #expect(PartialState(damaged) == nil, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test func aStateHasNoURLAndNoSecret() {
        let text = String(decoding: Self.state(length: 5).bytes, as: UTF8.self)
        #expect(!text.contains("example") && !text.contains("http"))
    }

    /// The stored bytes are of the content, of another one, or fewer than the state says.
    @Test(arguments: [data.prefix(60_000), Data(repeating: 9, count: 60_000), data.prefix(10), Data()], [true, false])
    func theFileIsRightWhateverTheStateIs(stored: Data, isDamaged: Bool) async throws {
        try await Self.withTarget { target in
            let partial = target.deletingLastPathComponent().appendingPathComponent(".file.bin.part")
            let isOfContent = Self.data.starts(with: stored)
            var bytes = Self.state(length: 60_000).bytes
            // Bytes of another content are never counted by a whole state: those were removed first.
            let damages = isDamaged || !isOfContent ? Array(stride(from: 0, to: bytes.count, by: 9)) : [-1]
            for index in damages {
                if index >= 0 { bytes[index] ^= 4 }
                try stored.write(to: partial)
                try Data(bytes).write(to: URL(fileURLWithPath: partial.path + "-state"))
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
            let room = 40_000
            disk.write = { descriptor, bytes, offset in
                guard offset < room else { return Self.failing(ENOSPC, -1) }
                return Disk.system.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(room - offset)), offset)
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
            let options = DownloadOptions().with(\.keepsPartial, value: false)
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
