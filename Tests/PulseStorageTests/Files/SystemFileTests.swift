// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct SystemFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("a").path
    }

    /// A disk each of whose calls to open and to write is interrupted once, and whose writes take a byte at a time.
    private static func interrupted() -> Disk {
        let isInterrupted = Locked(false)
        let interrupt = { @Sendable in
            errno = EINTR
            return isInterrupted.withLock { isInterrupted in
                isInterrupted.toggle()
                return isInterrupted
            }
        }
        var disk = Disk.system
        disk.open = { path, flags in interrupt() ? -1 : systemOpen(path, flags) }
        disk.write = { file, bytes, offset in
            interrupt() ? -1 : Disk.system.write(file, UnsafeRawBufferPointer(rebasing: bytes.prefix(1)), offset)
        }
        return disk
    }

    @Test func anInterruptedCallIsRepeated() throws {
        let disk = Self.interrupted()
        let bytes = Array("hello".utf8)
        try SystemFile.replace(path, with: bytes, using: disk)
        #expect(try SystemFile.contents(path, using: disk) == bytes)
        #expect(try SystemDirectory.names(in: directory.url.path, using: disk) == ["a"])
    }

    @Test func aReadEndsWithTheFile() throws {
        try SystemFile.replace(path, with: Array("hello".utf8), using: .system)
        let file = try SystemFile.open(path, O_RDONLY)
        defer { _ = SystemFile.close(file) }
        #expect(try SystemFile.read(file, from: 3, count: 10) == Array("lo".utf8))
        #expect(try SystemFile.read(file, from: 9, count: 10).isEmpty)
    }

    @Test(arguments: [O_RDONLY, O_RDWR | O_CREAT])
    func onlyARegularFileIsOpened(flags: Int32) throws {
        let other = directory.file("other")
        try Data("secret".utf8).write(to: other)
        let plants = [
            { symlink(other.path, path) }, { mkfifo(path, 0o600) }, { symlink("nowhere", path) },
            { symlink(path, path) },
        ]
        for (number, plant) in plants.enumerated() {
            #expect(plant() == 0)
            #expect(throws: JournalFailure.system(operation: "open", code: ELOOP), "\(number)") {
                try SystemFile.open(path, flags)
            }
            #expect(try SystemFile.remove(path))
        }
        #expect(try !SystemFile.remove(path))
        #expect(try SystemDirectory.names(in: directory.url.path) == ["other"])
    }

    /// A directory that cannot be read must not be taken for empty.
    @Test func aMissingDirectoryHasNoNamesAndAnUnreadableOneThrows() throws {
        #expect(try SystemDirectory.names(in: path).isEmpty)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try SystemDirectory.names(in: path).isEmpty)
        let faulty = FaultyDisk()
        faulty.plan.withLock { $0.open = EACCES }
        #expect(throws: JournalFailure.notPermitted) {
            try SystemDirectory.names(in: directory.url.path, using: faulty.disk)
        }
    }

    @Test func theStatusOfANameIsThatOfALinkItself() throws {
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
        #expect(symlink("a", directory.file("b").path) == 0)
        var sizes: [Int] = []
        try SystemDirectory.forEachName(in: directory.url.path, using: .system) { entry in
            sizes.append(try #require(try entry.status()).size)
        }
        #expect(sizes.sorted() == [1, 5])
        #expect(try SystemFile.status(directory.file("b").path)?.size == 5)
    }

    /// Its parents may be the app's own, and an existing directory is.
    @Test func onlyANewDirectoryIsExcludedFromBackups() throws {
        let excluded = Locked<[String]>([])
        var disk = Disk.system
        disk.excludeFromBackup = { path in excluded.withLock { $0.append(path) } }
        try SystemFile.makeDirectory(path + "/b/c", using: disk)
        try SystemFile.makePrivateDirectory(path + "/b", using: disk)
        try SystemFile.makeDirectory(path + "/d", isBackedUp: true, using: disk)
        #expect(excluded.withLock { $0 } == [path + "/b/c"])
    }
}
