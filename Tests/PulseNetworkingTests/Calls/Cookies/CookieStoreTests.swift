// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct CookieStoreTests {
    private static func withFile(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("cookies-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory.appendingPathComponent("cookies.json"))
    }

    private static let url = URL(string: "https://example.com/") ?? URL(fileURLWithPath: "/")
    private static let now = CookieTests.now

    @Test func cookiesWithAnExpiryAreStoredInAFileForItsUserOnly() async throws {
        try await Self.withFile { file in
            let store = FileCookieStore(file: file)
            await store.store(setCookie: ["kept=1; Max-Age=60", "session=2"], from: Self.url, now: Self.now)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1; session=2")
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let reopened = FileCookieStore(file: file)
            #expect(await reopened.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            await reopened.removeAll()
            #expect(await FileCookieStore(file: file).cookieHeader(for: Self.url, now: Self.now) == nil)
            let directory = file.deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test func aMissingFolderIsCreatedForItsUserAlone() async throws {
        try await Self.withFile { file in
            await FileCookieStore(file: file)
                .store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            let folder = file.deletingLastPathComponent().path
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        }
    }

    @Test(arguments: [0o720, 0o702, 0o1777] as [mode_t])
    func aFolderThatOthersMayWriteToIsNotUsed(permissions: mode_t) async throws {
        try await Self.withFile { file in
            await FileCookieStore(file: file)
                .store(setCookie: ["planted=1; Max-Age=60"], from: Self.url, now: Self.now)
            let (folder, stored) = (file.deletingLastPathComponent().path, try Data(contentsOf: file))
            chmod(folder, permissions)
            let store = FileCookieStore(file: file)
            await store.store(setCookie: ["own=1; Max-Age=60"], from: Self.url, now: Self.now + 1)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now + 1) == "own=1")
            #expect(await store.saveError as? JournalFailure == .notPrivate)
            #expect(try Data(contentsOf: file) == stored)
            chmod(folder, 0o755)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now + 1) == "planted=1; own=1")
            #expect(await store.saveError == nil)
            chmod(folder, permissions)
            await store.store(setCookie: ["more=1; Max-Age=60"], from: Self.url, now: Self.now)
            #expect(await store.saveError as? JournalFailure == .notPrivate)
        }
    }

    /// Trap: after a logout on a full disk the next start finds the session. An overlong file name has the same effect:
    /// no new file can be created.
    @Test(arguments: [false, true])
    func removingAllCookiesNeedsNoNewFile(byTheServer: Bool) async throws {
        try await Self.withFile { short in
            let other = FileCookieStore(file: short)
            await other.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            let name = String(repeating: "c", count: 255)
            let file = short.deletingLastPathComponent().appendingPathComponent(name)
            try FileManager.default.moveItem(at: short, to: file)
            let store = FileCookieStore(file: file)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            await store.store(setCookie: ["other=2; Max-Age=60"], from: Self.url, now: Self.now)
            #expect(await store.saveError != nil)
            if byTheServer {
                let lines = ["kept=; Max-Age=0", "other=; Max-Age=0", "session=3"]
                await store.store(setCookie: lines, from: Self.url, now: Self.now)
            } else {
                await store.removeAll()
            }
            #expect(await store.saveError == nil)
            #expect(await FileCookieStore(file: file).cookieHeader(for: Self.url, now: Self.now) == nil)
        }
    }

    /// Covers a file that was moved aside, and a temporary file that a crash has left.
    @Test func removingAllCookiesLeavesNoneInAnyFile() async throws {
        try await Self.withFile { file in
            let directory = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let temporary = directory.appendingPathComponent(".cookies.json.\(UUID().uuidString)")
            let other = directory.appendingPathComponent(".cookies.json.backup")
            try Data("damaged".utf8).write(to: file)
            let store = FileCookieStore(file: file)
            await store.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            for left in [temporary, other] { try Data("session".utf8).write(to: left) }
            await store.removeAll()
            #expect(await store.saveError == nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [".cookies.json.backup"])
            // Also covers the next start.
            try Data("session".utf8).write(to: temporary)
            #expect(await FileCookieStore(file: file).cookieHeader(for: Self.url, now: Self.now) == nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [".cookies.json.backup"])
        }
    }

    #if os(Linux)
    @Test func aFileThatCannotBeRemovedIsEmptied() async throws {
        try await Self.withFile { file in
            await FileCookieStore(file: file)
                .store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            let handle = try FileHandle(forUpdating: file)
            // Not even root can remove this path; it leads to the file.
            let link = URL(fileURLWithPath: "/proc/self/fd/\(handle.fileDescriptor)")
            let store = FileCookieStore(file: link)
            await store.removeAll()
            #expect(await store.saveError == nil)
            #expect(try Data(contentsOf: file).isEmpty)
            #expect(await FileCookieStore(file: link).cookieHeader(for: Self.url, now: Self.now) == nil)
            try handle.close()
        }
    }
    #endif

    @Test func aFailureToRemoveAllCookiesIsReported() async throws {
        try await Self.withFile { file in
            // A directory can neither be removed nor emptied as a file, even by root.
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            let store = FileCookieStore(file: file)
            await store.removeAll()
            #expect(await store.saveError != nil)
            #expect(FileManager.default.fileExists(atPath: file.path))
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == nil)
        }
    }

    @Test func aFileWithoutASealIsReadAndSealed() async throws {
        try await Self.withFile { file in
            let line = ["kept=1; Max-Age=60"]
            await FileCookieStore(file: file).store(setCookie: line, from: Self.url, now: Self.now)
            let sealed = try Data(contentsOf: file)
            try sealed.drop { $0 != UInt8(ascii: "\n") }.dropFirst().write(to: file)
            let store = FileCookieStore(file: file)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            await store.store(setCookie: ["other=2; Max-Age=60"], from: Self.url, now: Self.now)
            #expect(try Data(contentsOf: file).starts(with: Data("pulse-cookies 1 ".utf8)))
        }
    }

    @Test func aPlantedLinkIsNeitherReadNorFollowed() async throws {
        try await Self.withFile { file in
            let line = ["kept=1; Max-Age=60"]
            await FileCookieStore(file: file).store(setCookie: line, from: Self.url, now: Self.now)
            let other = file.appendingPathExtension("other")
            try FileManager.default.moveItem(at: file, to: other)
            let content = try Data(contentsOf: other)
            #expect(symlink(other.path, file.path) == 0)
            let store = FileCookieStore(file: file)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == nil)
            await store.removeAll()
            #expect(await store.saveError == nil)
            #expect(try Data(contentsOf: other) == content)
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test func theStoreStartsEmptyFromEveryTruncationOfItsFile() async throws {
        try await Self.withFile { file in
            let store = FileCookieStore(file: file)
            await store.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            let whole = try Data(contentsOf: file)
            for length in 0..<whole.count {
                try whole.prefix(length).write(to: file)
                #expect(await FileCookieStore(file: file).cookieHeader(for: Self.url, now: Self.now) == nil)
                #expect(try Data(contentsOf: file.appendingPathExtension("damaged")) == whole.prefix(length))
            }
        }
    }

    /// Trap: newer cookies overwrite a file that is unreadable for the moment.
    @Test func anUnreadableFileIsLeftUntouched() async throws {
        try await Self.withFile { file in
            // A directory cannot be read as a file, even by root.
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            let store = FileCookieStore(file: file)
            await store.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            #expect(await store.saveError != nil)
            var isDirectory: ObjCBool = false
            #expect(
                FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory) && isDirectory.boolValue)
        }
    }

    /// Trap: a process that started while the device was locked has no cookies for the rest of its life.
    @Test func anUnreadableFileIsReadAsSoonAsItIsReadable() async throws {
        try await Self.withFile { file in
            let lines = ["a=1; Max-Age=60", "gone=1; Max-Age=60", "changed=1; Max-Age=60"]
            await FileCookieStore(file: file).store(setCookie: lines, from: Self.url, now: Self.now)
            let aside = file.appendingPathExtension("aside")
            try FileManager.default.moveItem(at: file, to: aside)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            let store = FileCookieStore(file: file)
            for lines in [["b=2; Max-Age=60", "changed=2; Max-Age=60"], ["gone=; Max-Age=0"]] {
                await store.store(setCookie: lines, from: Self.url, now: Self.now)
            }
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "b=2; changed=2")
            #expect(await store.saveError != nil)
            try FileManager.default.removeItem(at: file)
            try FileManager.default.moveItem(at: aside, to: file)
            for store in [store, FileCookieStore(file: file)] {
                #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "a=1; changed=2; b=2")
                #expect(await store.saveError == nil)
            }
        }
    }

    @Test func cookiesAreServedFromMemoryWhileTheDiskHangs() async throws {
        try await Self.withFile { file in
            let hanging = HangingDisk()
            var disk = Disk.system
            disk.makeDirectory = { path in
                hanging.pass()
                return systemMakeDirectory(path)
            }
            let store = FileCookieStore(file: file, on: disk)
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == nil)
            hanging.hang()
            let call = Task { await store.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now) }
            await hanging.asked()
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            call.cancel()
            await call.value
            hanging.respond()
            await store.store(setCookie: ["more=1; Max-Age=60"], from: Self.url, now: Self.now)
            #expect(await store.saveError == nil)
            #expect(
                await FileCookieStore(file: file).cookieHeader(for: Self.url, now: Self.now) == "kept=1; more=1")
        }
    }

    @Test func aCancelledCallDoesNotWaitForTheFileOfItsCookies() async throws {
        try await Self.withFile { file in
            await FileCookieStore(file: file)
                .store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
            let hanging = HangingDisk()
            hanging.hang()
            var disk = Disk.system
            disk.open = { path, flags in
                hanging.pass()
                return systemOpen(path, flags)
            }
            let store = FileCookieStore(file: file, on: disk)
            let call = Task { await store.cookieHeader(for: Self.url, now: Self.now) }
            await hanging.asked()
            call.cancel()
            #expect(await call.value == nil)
            hanging.respond()
            #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
            #expect(await store.saveError == nil)
        }
    }

    @Test func aFailureToWriteIsReported() async throws {
        let store = FileCookieStore(file: URL(fileURLWithPath: "/dev/null/cookies.json"))
        await store.store(setCookie: ["kept=1; Max-Age=60"], from: Self.url, now: Self.now)
        #expect(await store.saveError != nil)
        #expect(await store.cookieHeader(for: Self.url, now: Self.now) == "kept=1")
    }

    @Test func aSessionCookieIsCarriedFromLoginToTheNextCall() async throws {
        let store = MemoryCookieStore()
        try await ClientStage.run(retry: .default, with: { $0.cookieStore = store }) { client, server in
            server.fallback { request in
                request.path == "/login" ? .status(204).header("Set-Cookie", "session=abc; Path=/") : .status(200)
            }
            try await client.post("/login", body: ["name": "Ada"])
            _ = try await client.rawRequest(Request<EmptyResponse>(.get, "/account"))
            #expect(server.activity.requests.map { $0.headers["Cookie"] } == [nil, "session=abc"])
            store.removeAll()
            #expect(store.cookies(for: server.baseURL).isEmpty)
        }
    }
}
