// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import TestSupport
import Testing

@Suite(.throttled)
struct SealedFileTests {
    private static let old = Data("old\nlines".utf8)
    private static let new = Data((0...255).map { UInt8($0) })

    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("a").path
    }

    private func file(_ disk: Disk = .system) -> SealedFile { SealedFile(path, format: "pulse-test 1", using: disk) }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted() }
    }

    @Test(arguments: [Data(), old, new])
    func theContentIsReadAsItWasWritten(content: Data) throws {
        #expect(try file().read() == nil)
        try file().write(Self.old)
        try file().write(content)
        #expect(try file().read() == content)
        #expect(try directory.permissions(of: "a") == 0o600)
        #expect(try names == ["a"])
        file().remove()
        #expect(try names == [])
    }

    @Test(arguments: [Data(), old])
    func everyDamageIsFound(content: Data) throws {
        let format = "pulse-test 1"
        let bytes = SealedFile.sealed(content, format)
        for end in bytes.indices { #expect(SealedFile.content(of: bytes[..<end], format) == nil, "\(end) bytes") }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                #expect(SealedFile.content(of: damaged, format) == nil, "bit \(bit) of byte \(index)")
            }
        }
        #expect(SealedFile.content(of: bytes + [0], format) == nil)
        #expect(SealedFile.content(of: bytes, "pulse-test 2") == nil)
    }

    @Test func aLargerFileThanTheLimitIsNotRead() throws {
        try file().write(Self.old)
        let size = SealedFile.sealed(Self.old, "pulse-test 1").count
        #expect(try file().read(limit: size) == Self.old)
        #expect(try file().read(limit: size - 1) == nil)
    }

    /// The steps whose order makes the content survive a power failure.
    @Test func aWriteIsSyncedThenRenamedThenItsDirectoryIsSynced() throws {
        let (steps, names) = (Locked<[String]>([]), Locked<[Int32: String]>([:]))
        var disk = Disk.system
        disk.open = { path, flags in
            let descriptor = systemOpen(path, flags)
            names.withLock { $0[descriptor] = (path as NSString).lastPathComponent }
            return descriptor
        }
        disk.sync = { descriptor in
            steps.withLock { $0.append("sync " + names.withLock { $0[descriptor] ?? "" }) }
            return Disk.system.sync(descriptor)
        }
        disk.rename = { from, to in
            steps.withLock { $0.append("rename") }
            return Disk.system.rename(from, to)
        }
        try file(disk).write(Self.new)
        #expect(steps.withLock { $0 } == ["sync a-new", "rename", "sync " + directory.url.lastPathComponent])
    }

    @Test func aFailureOfTheDiskLeavesTheOldContentAndNoOtherFile() throws {
        try file().write(Self.old)
        let plans: [(WritableKeyPath<FaultyDisk.Plan, Int32>, Int32, JournalFailure)] = [
            (\.open, EACCES, .notPermitted), (\.write, ENOSPC, .noSpace),
            (\.sync, EIO, .system(operation: "fsync", code: EIO)), (\.rename, EROFS, .readOnly),
        ]
        for (path, code, failure) in plans {
            let faulty = FaultyDisk()
            faulty.plan.withLock {
                $0[keyPath: path] = code
                $0.partial = 5
            }
            #expect(throws: failure) { try file(faulty.disk).write(Self.new) }
            #expect(try file().read() == Self.old)
            #expect(try names == ["a"])
        }
    }

    /// What a crash or another program may have left in the place of the first name.
    enum Planted: CaseIterable { case link, danglingLink, pipe, openFile }

    @Test(arguments: Planted.allCases)
    func whatIsPlantedIsReplacedAndNotFollowed(planted: Planted) throws {
        let other = directory.file("other")
        let next = SystemFile.next(path)
        for place in [next, path] {
            try? FileManager.default.removeItem(at: other)
            unlink(path)
            switch planted {
            case .link:
                try Self.old.write(to: other)
                #expect(symlink(other.path, place) == 0)
            case .danglingLink: #expect(symlink(other.path, place) == 0)
            case .pipe: #expect(mkfifo(place, 0o666) == 0)
            case .openFile: #expect(close(open(place, O_WRONLY | O_CREAT, 0o600)) == 0 && chmod(place, 0o777) == 0)
            }
            if place == path, planted != .openFile {
                let read = Result { try file().read() }
                // The target of the link is never opened.
                #expect(throws: JournalFailure.system(operation: "open", code: ELOOP)) { try read.get() }
            }
            try file().write(Self.new)
            #expect(try file().read() == Self.new)
            #expect(try directory.permissions(of: "a") == 0o600)
            #expect(FileManager.default.contents(atPath: other.path) == (planted == .link ? Self.old : nil))
        }
    }
}
