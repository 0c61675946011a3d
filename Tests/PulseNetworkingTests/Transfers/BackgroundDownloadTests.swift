// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@testable import PulseTransfers

/// Downloads of a list in a background session, whose system and server the test plays.
@Suite(.tags(.threads, .addresses), .throttled)
struct BackgroundDownloadTests {
    private let endpoint = Request<EmptyResponse>(.get, "/film")
    private let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    private var fields: [String: String] { ["Content-Length": "\(content.count)", "ETag": "\"a\""] }

    private func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test func aDownloadComesThroughTheSession() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, fields, content)
            #expect(try await download.file() == app.file("film"))
            #expect(try Data(contentsOf: app.file("film")) == content)
            #expect(try names(in: app.file("transfers")) == [])
            #expect(world.system.tasks.isEmpty)
            #expect(world.system.resumed == [1])
        }
    }

    @Test func aRelaunchTakesOverTheRunningTask() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            let id = try await first.downloads.add(endpoint, to: first.file("film")).id
            await world.system.resumed(1)
            try world.kill()
            let second = try world.launch()
            try await second.downloads.start()
            let download = try #require(second.downloads.all.first)
            #expect(download.id == id)
            world.system.respond(to: 1, 200, fields, content)
            #expect(try await download.file() == second.file("film"))
            #expect(try Data(contentsOf: second.file("film")) == content)
            #expect(world.system.resumed == [1])
        }
    }

    @Test func anOutcomeThatCameWhileNoProcessRanIsDelivered() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            try await first.downloads.add(endpoint, to: first.file("film"))
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 200, fields, content)
            let second = try world.launch()
            try await second.downloads.start()
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
            #expect(world.system.resumed == [1])
        }
    }

    // MARK: The chain

    @Test func a401GetsANewTokenAfterARelaunchAndIsHandedOverAgain() async throws {
        try await BackgroundWorld.run { world in
            let tokens = BackgroundTokens()
            let first = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            try await first.downloads.add(endpoint, to: first.file("film"))
            await world.system.resumed(1)
            #expect(world.system.tasks[1]?.request?.value(forHTTPHeaderField: "Authorization") == "Bearer t")
            try world.kill()
            world.system.respond(to: 1, 401)
            let second = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            try await second.downloads.start()
            await world.system.resumed(2)
            #expect(world.system.tasks[2]?.request?.value(forHTTPHeaderField: "Authorization") == "Bearer t+")
            world.system.respond(to: 2, 200, fields, content)
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
            #expect(try names(in: second.file("transfers")) == [])
        }
    }

    @Test func theSystemDoesTheBackoff() async throws {
        try await BackgroundWorld.run { world in
            let policy = RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(7))
            let app = try world.launch(retry: policy)
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            world.system.respond(to: 1, 503)
            await world.system.resumed(2)
            #expect(world.system.tasks[2]?.work.notBefore == app.clock.now.addingTimeInterval(7))
            world.system.respond(to: 2, 503, ["Retry-After": "30"])
            await world.system.resumed(3)
            #expect(world.system.tasks[3]?.work.notBefore == app.clock.now.addingTimeInterval(30))
            world.system.respond(to: 3, 503)
            await #expect(throws: PulseError.self) { try await download.file() }
            #expect(app.clock.sleeps(for: .backoff).isEmpty)
            await download.resume()
            await world.system.resumed(4)
            #expect(world.system.tasks[4]?.work.notBefore == nil)
        }
    }

    @Test func anErrorStatusLeavesTheFileAndBringsItsBody() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            try Data("old".utf8).write(to: app.file("film"))
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            world.system.respond(to: 1, 404, [:], Data("nothing here".utf8))
            do {
                _ = try await download.file()
                Issue.record("no error")
            } catch PulseError.http(let response) {
                #expect(response.statusCode == 404 && response.data == Data("nothing here".utf8))
            }
            #expect(try Data(contentsOf: app.file("film")) == Data("old".utf8))
            #expect(try names(in: app.file("transfers")) == [])
        }
    }

    @Test(arguments: ["length", "digest"])
    func aContentThatIsNotWhatWasSaidLeavesTheFile(fault: String) async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            try Data("old".utf8).write(to: app.file("film"))
            var options = Download.Options()
            if fault == "digest" { options.digest = .sha256(String(repeating: "0", count: 64)) }
            let download = try await app.downloads.add(endpoint, to: app.file("film"), download: options)
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, fields, fault == "length" ? content.dropLast() : content)
            await #expect(throws: PulseError.self) { try await download.file() }
            #expect(try Data(contentsOf: app.file("film")) == Data("old".utf8))
        }
    }

    @Test func anEmptyContentBecomesAnEmptyFile() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, ["Content-Length": "0"])
            #expect(try await download.file() == app.file("film"))
            // Foundation leaks the buffer of an empty file's bytes.
            #expect(try FileStamp(path: app.file("film").path).size == 0)
        }
    }

    /// The system's session and the calls hold each other only while a transfer goes on.
    @Test(arguments: [true, false])
    func aListIsFreedAfterItsTransfers(isCompleted: Bool) async throws {
        weak var transfers: BackgroundTransfers?
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            transfers = app.transfers
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            if isCompleted {
                world.system.respond(to: 1, 200, fields, content)
                _ = try await download.file()
            }
        }
        while transfers != nil { await Task.yield() }
    }

    #if canImport(Glibc)
    /// The directory of shared memory is a volume of its own.
    @Test func aFileFromAnotherVolumeIsCopied() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let target = URL(fileURLWithPath: "/dev/shm/pulse-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: target) }
            let download = try await app.downloads.add(endpoint, to: target)
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, fields, content)
            #expect(try await download.file() == target)
            #expect(try Data(contentsOf: target) == content)
            #expect(try names(in: app.file("transfers")) == [])
        }
    }
    #endif

    @Test func aContentThatHasNoPlaceYetIsKept() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let folder = app.file("folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let target = folder.appendingPathComponent("film")
            let download = try await app.downloads.add(endpoint, to: target)
            await world.system.resumed(1)
            try FileManager.default.removeItem(at: folder)
            world.system.respond(to: 1, 200, fields, content)
            await #expect(throws: PulseError.self) { try await download.file() }
            // Without a directory nothing is handed over.
            let other = try await app.downloads.add("/other", to: folder.appendingPathComponent("b"))
            await #expect(throws: PulseError.self) { try await other.file() }
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            await download.resume()
            #expect(try await download.file() == target)
            #expect(try Data(contentsOf: target) == content)
            #expect(world.system.resumed == [1])
        }
    }

    /// Something has removed the file that the system brought.
    @Test func aMissingContentIsSentForAgain() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            let id = try await first.downloads.add(endpoint, to: first.file("film")).id
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 200, fields, content)
            let second = try world.launch()
            try await second.transfers.start()
            await second.transfers.leave("")
            try FileManager.default.removeItem(at: second.transfers.content(of: id.uuidString))
            try await second.downloads.start()
            await world.system.resumed(2)
            world.system.respond(to: 2, 200, fields, content)
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
            #expect(try Data(contentsOf: second.file("film")) == content)
        }
    }

    // MARK: Pausing

    /// Pauses a download once it has its response.
    private struct Pausing: PulsePlugin {
        let identifier = "pausing"
        let scope = PluginScope.call
        let download = Locked<Download?>(nil)

        func didReceive(
            _ result: Result<PulseResponse, PulseError>, for context: PluginContext
        ) async throws -> Result<PulseResponse, PulseError>? {
            guard let download = download.withLock({ $0.take() }) else { return nil }
            Task { await download.pause() }
            // Until the pause cancels the call.
            try? await context.clock.sleep(1000)
            return nil
        }
    }

    @Test func aPauseWhileTheContentIsCheckedKeepsIt() async throws {
        try await BackgroundWorld.run { world in
            let plugin = Pausing()
            let app = try world.launch(plugins: [plugin])
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            plugin.download.withLock { $0 = download }
            world.system.respond(to: 1, 200, fields, content)
            for await event in download.events {
                if case .paused = event { break }
            }
            #expect(try names(in: app.file("transfers")).count == 2)
            await download.resume()
            #expect(try await download.file() == app.file("film"))
            #expect(try Data(contentsOf: app.file("film")) == content)
            #expect(world.system.resumed == [1])
        }
    }

    @Test func aPauseKeepsWhatTheSystemCanResume() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            await download.pause()
            #expect(world.system.stopped == [1])
            #expect(try names(in: app.file("transfers")).count == 2)
            try world.kill()
            let second = try world.launch()
            try await second.downloads.start()
            let again = try #require(second.downloads.all.first)
            await again.resume()
            await world.system.resumed(2)
            guard case .resumedDownload(Data("resume".utf8)) = world.system.tasks[2]?.work.kind else {
                Issue.record("\(String(describing: world.system.tasks[2]))")
                return
            }
            let range = ["Content-Range": "bytes 60000-99999/100000", "Content-Length": "40000", "ETag": "\"a\""]
            world.system.respond(to: 2, 206, range, content)
            #expect(try await again.file() == second.file("film"))
            #expect(try Data(contentsOf: second.file("film")) == content)
        }
    }

    @Test(arguments: ["100000", "*"])
    func aRestThatDoesNotFitComesAgain(total: String) async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            await download.pause()
            await download.resume()
            await world.system.resumed(2)
            world.system.respond(to: 2, 206, ["Content-Range": "bytes 60000-99999/\(total)"], content.dropLast())
            await world.system.resumed(3)
            #expect(world.system.tasks[3]?.request != nil)
            world.system.respond(to: 3, 200, fields, content)
            #expect(try await download.file() == app.file("film"))
            #expect(try Data(contentsOf: app.file("film")) == content)
        }
    }

    @Test func aLostDownloadGoesOnWithWhatCame() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch(retry: RetryPolicy(backoffStrategy: .constant(1)))
            try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            let data = Data("rest".utf8)
            world.system.fail(
                1, BackgroundFailure(code: .networkConnectionLost, phase: .responseStarted, resumeData: data))
            await world.system.resumed(2)
            guard case .resumedDownload(data) = world.system.tasks[2]?.work.kind else {
                Issue.record("\(String(describing: world.system.tasks[2]))")
                return
            }
        }
    }

    @Test func aCancelledDownloadLeavesNothing() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            await download.cancel()
            #expect(world.system.tasks.isEmpty)
            #expect(try names(in: app.file("transfers")) == [])
            #expect(app.downloads.all.isEmpty)
        }
    }

    @Test func progressIsTold() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            world.system.progress(of: 1, 500, of: 100_000)
            for await event in download.events {
                if case .progress(let progress) = event, progress.completed == 500, progress.total == 100_000 { break }
            }
        }
    }

    // MARK: The state

    /// A lock on a file in a container that apps share ends a suspended app.
    @Test func aPendingDownloadHoldsNoLockAndNoPartialFile() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await world.system.resumed(1)
            #expect(try names(in: app.directory) == ["list", "transfers"])
            #expect(try names(in: app.file("transfers")) == ["\(download.id.uuidString).transfer"])
        }
    }

    @Test func theStateHasNoSecretAndNoURL() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch(plugins: [AuthPlugin(tokenProvider: BackgroundTokens())])
            let download = try await app.downloads.add(
                endpoint.query("signature", "confidential"), to: app.file("film"))
            await world.system.resumed(1)
            let file = app.file("transfers/\(download.id.uuidString).transfer")
            let text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
            // The hexadecimal digests may have three letters of a name by chance.
            for word in ["Bearer", "confidential", "example.com", "film", "\"ada"] { #expect(!text.contains(word)) }
        }
    }

    @Test func anotherAccountGetsNothing() async throws {
        try await BackgroundWorld.run { world in
            let tokens = BackgroundTokens()
            let first = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            try await first.downloads.add(endpoint, to: first.file("film"))
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 200, fields, content)
            tokens.account.withLock { $0 = "bob" }
            let second = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            try await second.downloads.start()
            await second.clock.sleepers(atLeast: 1, for: .idle)
            #expect(!FileManager.default.fileExists(atPath: second.file("film").path))
            tokens.account.withLock { $0 = "ada" }
            await second.downloads.all.first?.resume()
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
            #expect(world.system.resumed == [1])
        }
    }

    @Test func aClientWithPinsSendsNothing() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch {
                $0.with(
                    \.sslPinningPolicy,
                    value: .publicKeyHashes(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
            }
            let download = try await app.downloads.add(endpoint, to: app.file("film"))
            await #expect(throws: PulseError.self) { try await download.file() }
            guard case .failed(.unsupported) = download.latest else {
                Issue.record("\(download.latest)")
                return
            }
            #expect(world.system.resumed.isEmpty)
        }
    }
}
