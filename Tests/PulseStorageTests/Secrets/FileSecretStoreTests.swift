// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.tags(.addresses), .throttled)
struct FileSecretStoreTests {
    private let directory: TemporaryDirectory
    private let store: FileSecretStore
    private let secret = Data("a-secret".utf8)

    init() throws {
        directory = try TemporaryDirectory()
        store = FileSecretStore(directory: directory.file("app/secrets"))
    }

    private var file: URL { directory.file("app/secrets/session.secret") }

    private func refusal(_ work: () throws -> Void) -> SecretStoreFailure? {
        #expect(throws: SecretStoreFailure.self, performing: work)
    }

    @Test func fulfilsTheContract() throws {
        try SecretStoreContract.check(store)
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path) == ["lock"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["app"])
    }

    @Test func theFileIsForItsUserAlone() throws {
        try store.setSecret(secret, for: "session")
        #expect(try directory.permissions(of: "app/secrets/session.secret") == 0o600)
        #expect(try directory.permissions(of: "app/secrets") == 0o700)
    }

    @Test(arguments: [0o604, 0o640, 0o666])
    func refusesAFileThatOthersMayRead(permissions: Int) throws {
        try store.setSecret(secret, for: "session")
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPrivate))
        try store.setSecret(secret, for: "session")
        #expect(try store.secret(for: "session") == secret)
    }

    @Test(arguments: [0o720, 0o702])
    func refusesADirectoryThatOthersMayWriteTo(permissions: Int) throws {
        try store.setSecret(secret, for: "session")
        let path = file.deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPrivate))
        #expect(refusal { try store.setSecret(secret, for: "session") } == SecretStoreFailure(.write, .notPrivate))
        #expect(refusal { try store.removeSecret(for: "session") } == SecretStoreFailure(.remove, .notPrivate))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        #expect(try store.secret(for: "session") == secret)
    }

    @Test func followsNoSymbolicLink() throws {
        try store.setSecret(secret, for: "other")
        let other = file.deletingLastPathComponent().appendingPathComponent("other.secret")
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPrivate))
        try store.setSecret(Data("new".utf8), for: "session")
        #expect(try store.secret(for: "other") == secret)
        // Nor one in place of the temporary file.
        try FileManager.default.createSymbolicLink(
            at: URL(fileURLWithPath: file.path + ".new"), withDestinationURL: other)
        try store.setSecret(secret, for: "session")
        #expect(try store.secret(for: "session") == secret)
        #expect(try store.secret(for: "other") == secret)
    }

    @Test func refusesADirectoryAndAPipeInPlaceOfTheFile() throws {
        try store.setSecret(secret, for: "other")
        mkfifo(file.path, 0o600)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPrivate))
        unlink(file.path)
        mkdir(file.path, 0o700)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPrivate))
    }

    @Test func everyTruncationAndEveryChangedByteIsDamage() throws {
        try store.setSecret(secret, for: "session")
        let bytes = try Data(contentsOf: file)
        for count in bytes.indices {
            try write(bytes.prefix(count))
            #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .damaged))
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                #expect(SecretRecord.decode(Array(changed)) == nil, "byte \(index), bit \(bit)")
            }
        }
        try write(bytes + [0])
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .damaged))
        truncate(file.path, 1 << 50)
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .damaged))
        try store.setSecret(secret, for: "session")
        #expect(try store.secret(for: "session") == secret)
    }

    private func write(_ bytes: Data) throws {
        try bytes.write(to: file)
        chmod(file.path, 0o600)
    }

    @Test func limitsAreTypedErrors() throws {
        let large = Data(repeating: 7, count: SecretRecord.maxSecretSize)
        try store.setSecret(large, for: "session")
        #expect(try store.secret(for: "session") == large)
        #expect(refusal { try store.setSecret(large + [7], for: "session") } == SecretStoreFailure(.write, .tooLarge))
        let name = String(repeating: "a", count: 244)
        try store.setSecret(secret, for: name)
        #expect(try store.secret(for: name) == secret)
        #expect(refusal { _ = try store.secret(for: name + "a") } == SecretStoreFailure(.read, .invalidAccount))
        #expect(
            refusal { try store.setSecret(secret, for: name + "a") } == SecretStoreFailure(.write, .invalidAccount))
        #expect(refusal { try store.removeSecret(for: name + "a") } == SecretStoreFailure(.remove, .invalidAccount))
    }

    @Test func aFailureOfTheDiskLeavesTheOldSecretAndNoOtherFile() throws {
        let faulty = FaultyDisk()
        let store = FileSecretStore(directory: directory.file("app/secrets"), disk: faulty.disk)
        try store.setSecret(secret, for: "session")
        let plans: [(WritableKeyPath<FaultyDisk.Plan, Int32>, Int32, SecretStoreFailure.Reason)] = [
            (\.write, ENOSPC, .noSpace), (\.sync, EIO, .system(code: EIO)), (\.rename, EACCES, .notPermitted),
            (\.open, EMFILE, .system(code: EMFILE)), (\.open, EROFS, .system(code: EROFS)),
        ]
        for (path, code, reason) in plans {
            faulty.plan.withLock {
                $0[keyPath: path] = code
                $0.partial = path == \.write ? 5 : 0
            }
            #expect(refusal { try store.setSecret(Data(), for: "session") } == SecretStoreFailure(.write, reason))
            faulty.plan.withLock { $0 = FaultyDisk.Plan() }
            #expect(try store.secret(for: "session") == secret)
            let files = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
            #expect(files.sorted() == ["lock", "session.secret"])
        }
        faulty.plan.withLock { $0.open = EPERM }
        #expect(refusal { _ = try store.secret(for: "session") } == SecretStoreFailure(.read, .notPermitted))
    }

    @Test func aWriteIsSyncedBeforeAndAfterItsRename() throws {
        let faulty = FaultyDisk()
        let store = FileSecretStore(directory: directory.file("app/secrets"), disk: faulty.disk)
        try store.setSecret(secret, for: "session")
        let before = faulty.plan.withLock { $0.syncs }
        try store.setSecret(secret, for: "session")
        #expect(faulty.plan.withLock { $0.syncs } == before + 2)
        try store.removeSecret(for: "session")
        #expect(faulty.plan.withLock { $0.syncs } == before + 3)
    }
}
