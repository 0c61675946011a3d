// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransfers

/// What is kept of an unfinished upload.
@Suite(.tags(.threads), .throttled)
struct UploadRecordTests {
    private typealias Put = TusFixture.Put

    private static let url = URL(string: "https://api.example.com/up")!

    private static func failure(_ error: PulseError?) -> TransferFailure? {
        guard case .transport(.cannotWriteToFile, let failure as TransferFailure) = error else { return nil }
        return failure
    }

    /// Two uploads of one file at once would refuse each other's offsets.
    @Test func aSecondUploadOfTheFileIsBusy() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, data, resumption in
                let second = TusFixture.client(server)
                let during = ClosurePlugin { request, _, next in
                    if request.httpMethod == "PATCH" {
                        let error = await #expect(throws: PulseError.self) {
                            try await second.upload(Put(file), resuming: resumption)
                        }
                        #expect(Self.failure(error) == .busy)
                    }
                    return try await next(request)
                }
                let client = TusFixture.client(server, plugins: [during])
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.createdCount == 1)
                // The lock ends with the upload.
                _ = try await second.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data, data])
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
                await second.shutdown()
            }
        }
    }

    @Test func aDirectoryThatCannotBeWrittenIsFoundFirst() async throws {
        try await MockServer.run { server in
            _ = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, _, _ in
                let client = TusFixture.client(server)
                for directory in [file, file.appendingPathComponent("a")] {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.upload(Put(file), resuming: UploadResumption(directory: directory))
                    }
                    #expect(Self.failure(error) == .unusableDestination)
                }
                #expect(server.requests.isEmpty)
                await client.shutdown()
            }
        }
    }

    /// A record is durable with its name, and describes the file, the upload and its account.
    @Test func aRecordIsSyncedWithItsDirectory() async throws {
        try await TusFixture.withFile { file, _, resumption in
            let steps = Locked<[String]>([])
            let opened = Locked<[Int32: String]>([:])
            var disk = Disk.system
            disk.open = { path, flags in
                let descriptor = systemOpen(path, flags)
                opened.withLock { $0[descriptor] = (path as NSString).pathExtension }
                return descriptor
            }
            disk.sync = { descriptor in
                steps.withLock { $0.append("sync " + opened.withLock { $0[descriptor] ?? "" }) }
                return Disk.system.sync(descriptor)
            }
            disk.rename = { from, to in
                steps.withLock { $0.append("rename") }
                return Disk.system.rename(from, to)
            }
            let record = try await UploadRecord.open(file, to: Self.url, in: resumption.directory, using: disk)
            steps.withLock { $0 = [] }
            let uploaded = try await UploadedFile.at(file)
            let upload = StoredUpload(url: Self.url, stamp: uploaded.stamp, account: "1f")
            try await record.write(upload)
            #expect(steps.withLock { $0 } == ["sync upload-new", "rename", "sync "])
            #expect(await record.read(for: uploaded) == upload)
            let other = UploadedFile(url: file, stamp: FileStamp(size: 1 << 20, modified: uploaded.stamp.modified + 1))
            #expect(await record.read(for: other) == nil)
            await record.remove()
            #expect(await record.read(for: uploaded) == nil)
            await record.close()
            #expect(TusFixture.names(resumption) == [])
        }
    }

    @Test func aRecordOnADiskThatHangsIsLeftAsItIs() async throws {
        try await TusFixture.withFile { file, _, resumption in
            let (hanging, clock, isOver) = (HangingDisk(), TestClock(), Locked(false))
            var disk = Disk.system
            disk.sync = { descriptor in
                hanging.pass()
                return Disk.system.sync(descriptor)
            }
            let uploaded = try await UploadedFile.at(file)
            let upload = StoredUpload(url: Self.url, stamp: uploaded.stamp, account: nil)
            func leave(_ disk: Disk) async throws {
                let record = try await UploadRecord.open(
                    file, to: Self.url, in: resumption.directory, using: disk, clock: clock)
                hanging.hang()
                let write = Task {
                    defer { isOver.withLock { $0 = true } }
                    try await record.write(upload)
                }
                await hanging.asked()
                write.cancel()
                while !isOver.withLock({ $0 }) { await clock.advance(by: 1) }
                await #expect(throws: CancellationError.self) { try await write.value }
                // Neither waits for the disk.
                await record.remove()
                await record.close()
            }
            try await leave(disk)
            hanging.respond()
            // The job that hung keeps the record locked until it ends.
            var next: UploadRecord?
            while next == nil {
                do {
                    next = try await UploadRecord.open(file, to: Self.url, in: resumption.directory)
                } catch let error as PulseError where Self.failure(error) == .busy {
                    await Task.yield()
                }
            }
            let record = try #require(next)
            #expect(await record.read(for: uploaded) == upload)
            await record.close()
        }
    }

    /// Trap: a pipe holds the thread that opens it.
    @Test func aPipeInPlaceOfARecordIsNone() async throws {
        try await TusFixture.withFile { file, _, resumption in
            let record = try await UploadRecord.open(file, to: Self.url, in: resumption.directory)
            let uploaded = try await UploadedFile.at(file)
            try await record.write(StoredUpload(url: Self.url, stamp: uploaded.stamp, account: nil))
            let name = try #require(TusFixture.names(resumption).first { $0.hasSuffix(".upload") })
            let path = resumption.directory.appendingPathComponent(name).path
            try FileManager.default.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
            #expect(await record.read(for: uploaded) == nil)
            await record.close()
        }
    }

    /// An app's container moves at an update.
    @Test func aRecordMovesWithItsFile() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let stamp = FileStamp(size: 1, modified: 1)
        func open(_ container: String) async throws -> UploadRecord {
            let place = root.appendingPathComponent(container)
            return try await UploadRecord.open(
                place.appendingPathComponent("Documents/video"), to: Self.url,
                in: place.appendingPathComponent("Library/uploads"))
        }
        try FileManager.default.createDirectory(
            at: root.appendingPathComponent("1/Library"), withIntermediateDirectories: true)
        let record = try await open("1")
        let upload = StoredUpload(url: Self.url, stamp: stamp, account: nil)
        try await record.write(upload)
        await record.close()
        try FileManager.default.moveItem(
            at: root.appendingPathComponent("1"), to: root.appendingPathComponent("2"))
        let moved = try await open("2")
        #expect(await moved.read(for: UploadedFile(url: Self.url, stamp: stamp)) == upload)
        await moved.close()
    }

    @Test func aFullDiskIsTyped() async throws {
        try await TusFixture.withFile { file, _, resumption in
            var disk = Disk.system
            disk.write = { _, _, _ in
                errno = ENOSPC
                return -1
            }
            let record = try await UploadRecord.open(file, to: Self.url, in: resumption.directory, using: disk)
            let stamp = try await UploadedFile.at(file).stamp
            let error = await #expect(throws: PulseError.self) {
                try await record.write(StoredUpload(url: Self.url, stamp: stamp, account: nil))
            }
            guard case .noSpace = Self.failure(error)?.reason else {
                Issue.record("\(String(describing: error))")
                return
            }
            await record.close()
        }
    }
}
