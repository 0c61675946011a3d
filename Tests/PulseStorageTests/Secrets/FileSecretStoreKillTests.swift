// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import TestSupport
import Testing

#if !canImport(UIKit)
/// Another process stores secrets, and is killed.
@Suite(.tags(.addresses), .throttled)
struct FileSecretStoreKillTests {
    private static let victim = ChildProcess.product("secret-victim")

    @Test func aKillAtEverySystemCallLeavesTheOldOrTheNewSecret() async throws {
        let directory = try TemporaryDirectory()
        let old = Data("the old secret".utf8)
        let new = Data(repeating: UInt8(ascii: "0"), count: 40)
        let path = directory.file("secrets")
        let store = FileSecretStore(directory: path)
        var (kills, results) = (0, Set<Data?>())
        while true {
            try store.setSecret(old, for: "session")
            let (_, signal) = try await ChildProcess.run(Self.victim, [path.path, "\(kills + 1)"])
            let secret = try store.secret(for: "session")
            results.insert(secret)
            guard signal == SIGKILL else { break }
            #expect([old, new].contains(secret), "call \(kills + 1)")
            kills += 1
        }
        #expect(kills >= 8)
        #expect(results == [old, new])
        #expect(try store.secret(for: "session") == new)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path.path).sorted() == ["lock", "session.secret"])
    }

    @Test func whatAKilledProcessLeavesIsForItsUserAloneAndRemovedWithTheSecret() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("secrets")
        var call = 1
        func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path.path).sorted() }
        while true {
            _ = try await ChildProcess.run(Self.victim, [path.path, "\(call)"])
            if (try? files().contains("session.secret.new")) == true { break }
            call += 1
            try #require(call < 30)
        }
        #expect(try directory.permissions(of: "secrets/session.secret.new") == 0o600)
        #expect(try directory.permissions(of: "secrets") == 0o700)
        let store = FileSecretStore(directory: path)
        #expect(try store.secret(for: "session") == nil)
        try store.removeSecret(for: "session")
        #expect(try files() == ["lock"])
    }

    @Test func readersOfTwoWritingProcessesGetWholeSecrets() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("secrets")
        let store = FileSecretStore(directory: path)
        try store.setSecret(Data(repeating: UInt8(ascii: "0"), count: 40), for: "session")
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<2 {
                group.addTask { try await ChildProcess.run(Self.victim, [path.path, "0", "50"]).signal }
            }
            let isOver = Locked(false)
            defer { isOver.withLock { $0 = true } }
            let reads = Task { try await Self.check(store, until: isOver) }
            for try await signal in group { #expect(signal == 0) }
            isOver.withLock { $0 = true }
            #expect(try await reads.value > 0)
        }
        #expect(try store.secret(for: "session") == Data(repeating: UInt8(ascii: "9"), count: 130))
    }

    private static func check(_ store: FileSecretStore, until isOver: Locked<Bool>) async throws -> Int {
        var reads = 0
        repeat {
            let secret = try #require(try store.secret(for: "session"))
            let digit = try #require(secret.first)
            #expect(secret == Data(repeating: digit, count: 40 + 10 * Int(digit - UInt8(ascii: "0"))))
            reads += 1
            await Task.yield()
        } while !isOver.withLock { $0 }
        return reads
    }
}
#endif
