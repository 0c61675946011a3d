// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@testable import PulseTransfers

/// Uploads in a background session, whose system and server the test plays.
@Suite(.tags(.threads, .addresses), .throttled)
struct BackgroundUploadTests {
    private struct Reply: Codable, Equatable, Sendable {
        let id: Int
    }

    private let body = Data(#"{"id":7}"#.utf8)

    /// A file that does not move with the app's directory.
    private func file(in world: BackgroundWorld, _ text: String = "a video") throws -> URL {
        try FileManager.default.createDirectory(at: world.root, withIntermediateDirectories: true)
        let file = world.root.appendingPathComponent("video")
        try Data(text.utf8).write(to: file)
        return file
    }

    private func endpoint(_ file: URL) -> Request<Reply> { Request<Reply>(.post, "/videos").body(.file(file)) }

    @Test func anUploadComesThroughTheSession() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            async let reply = app.client.upload(endpoint(file), in: app.transfers)
            await world.system.resumed(1)
            guard case .upload(let request, file)? = world.system.tasks[1]?.work.kind else {
                Issue.record("\(world.system.tasks)")
                return
            }
            #expect(request.httpMethod == "POST")
            world.system.respond(to: 1, 201, [:], body)
            #expect(try await reply == Reply(id: 7))
            #expect(world.system.resumed == [1])
            #expect(try FileManager.default.contentsOfDirectory(atPath: app.file("transfers").path).isEmpty)
        }
    }

    @Test func anUploadByPathIsThatOfAnUploadInTheForeground() async throws {
        try await BackgroundWorld.run { world in
            let (app, file, name) = (try world.launch(), try file(in: world), "a/b")
            let put = Task {
                _ = try await app.client.upload(
                    file, to: "/videos/\(name)", contentType: "video/x-a", query: ["v": 2], headers: ["X-A": "1"],
                    in: app.transfers)
            }
            await world.system.resumed(1)
            let request = world.system.tasks[1]?.request
            #expect(request?.httpMethod == "PUT")
            #expect(request?.url?.absoluteString == "https://example.com/videos/a%2Fb?v=2")
            #expect(request?.value(forHTTPHeaderField: "Content-Type") == "video/x-a")
            #expect(request?.value(forHTTPHeaderField: "X-A") == "1")
            world.system.respond(to: 1, 204)
            try await put.value

            let url = URL(string: "https://example.com/videos")!
            let post = Task {
                try await app.client.upload(file, to: url, method: .post, as: Reply.self, in: app.transfers)
            }
            await world.system.resumed(2)
            #expect(world.system.tasks[2]?.request?.httpMethod == "POST")
            world.system.respond(to: 2, 201, [:], body)
            #expect(try await post.value == Reply(id: 7))
        }
    }

    @Test(arguments: [false, true])
    func aLaterCallTakesOver(finished isFinished: Bool) async throws {
        try await BackgroundWorld.run { world in
            let (first, file) = (try world.launch(), try file(in: world))
            let lost = Task { try await first.client.upload(endpoint(file), in: first.transfers) }
            await world.system.resumed(1)
            try world.kill()
            if isFinished { world.system.respond(to: 1, 201, [:], body) }
            let second = try world.launch()
            try await second.transfers.start()
            async let reply = second.client.upload(endpoint(file), in: second.transfers)
            if !isFinished { world.system.respond(to: 1, 201, [:], body) }
            #expect(try await reply == Reply(id: 7))
            #expect(world.system.resumed == [1])
            lost.cancel()
            _ = await lost.result
            // The response was had: the same call is another upload.
            let again = Task { try await second.client.upload(endpoint(file), in: second.transfers) }
            await world.system.resumed(2)
            again.cancel()
            _ = await again.result
        }
    }

    /// An app's container moves at an update, with the directory of the transfers and the file.
    @Test func aFileThatMovedWithTheTransfersIsTheSame() async throws {
        try await BackgroundWorld.run { world in
            func file(of app: BackgroundApp) throws -> URL {
                let file = app.file("video")
                try Data("a video".utf8).write(to: file)
                // A move keeps it, and the copy of this test does not on all systems.
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file.path)
                return file
            }
            let first = try world.launch()
            let old = try file(of: first)
            let lost = Task { try await first.client.upload(endpoint(old), in: first.transfers) }
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 201, [:], body)
            let second = try world.launch()
            let moved = try file(of: second)
            #expect(moved != old)
            #expect(try await second.client.upload(endpoint(moved), in: second.transfers) == Reply(id: 7))
            #expect(world.system.resumed == [1])
            lost.cancel()
            _ = await lost.result
        }
    }

    /// The system raises an exception for a file that it cannot read.
    @Test(arguments: ["missing", "changed"])
    func aFileThatIsNotAsItWasIsAnErrorBeforeTheHandOver(fault: String) async throws {
        try await BackgroundWorld.run { world in
            let file = try file(in: world)
            // After the call has looked at the file.
            let app = try world.launch(opening: {
                if fault == "missing" { return try FileManager.default.removeItem(at: file) }
                try Data("another video".utf8).write(to: file)
            })
            do {
                _ = try await app.client.upload(endpoint(file), in: app.transfers)
                Issue.record("no error")
            } catch PulseError.encodingFailed {
            }
            #expect(world.system.tasks.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: app.file("transfers").path).isEmpty)
        }
    }

    /// Whatever the system says in the end, it may have sent the request before.
    @Test(arguments: [URLError.Code.cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .cancelled])
    func aFailedUploadIsNotSentAgainWithoutAKey(code: URLError.Code) async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (
                try world.launch(retry: RetryPolicy(backoffStrategy: .constant(1))), try file(in: world)
            )
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers) }
            await world.system.resumed(1)
            world.system.fail(1, BackgroundFailure(URLError(code), hasResponse: false))
            await #expect(throws: PulseError.self) { try await call.value }
            #expect(world.system.resumed == [1])
        }
    }

    /// The app may be suspended for a night.
    @Test func theDeadlineEndsWithTheHandOver() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (
                try world.launch(retry: RetryPolicy(backoffStrategy: .constant(1))), try file(in: world)
            )
            let options = RequestOptions().with(\.deadline, value: 10).with(\.idempotencyKey, value: .value("k"))
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers, options: options) }
            await world.system.resumed(1)
            await app.clock.advance(by: 30_000)
            // An attempt that follows has none either.
            world.system.respond(to: 1, 503)
            await world.system.resumed(2)
            world.system.respond(to: 2, 201, [:], body)
            #expect(try await call.value == Reply(id: 7))
        }
    }

    private struct Waiting: PulsePlugin {
        let identifier = "waiting"
        let scope = PluginScope.call

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            try await context.clock.sleep(60)
        }
    }

    @Test func theDeadlineHoldsUntilTheHandOver() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(plugins: [Waiting()]), try file(in: world))
            let options = RequestOptions().with(\.deadline, value: 10)
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers, options: options) }
            await app.clock.sleepers(atLeast: 1)
            await app.clock.sleepers(atLeast: 1, for: .deadline)
            await app.clock.advance(by: 11)
            do {
                _ = try await call.value
                Issue.record("no error")
            } catch PulseError.deadlineExceeded {
            }
            #expect(world.system.resumed.isEmpty)
        }
    }

    @Test(arguments: ["file", "account"])
    func anotherUploadTakesNothingOver(difference: String) async throws {
        try await BackgroundWorld.run { world in
            let tokens = BackgroundTokens()
            let file = try file(in: world)
            let first = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            let lost = Task { try await first.client.upload(endpoint(file), in: first.transfers) }
            await world.system.resumed(1)
            try world.kill()
            if difference == "file" {
                try Data("another video".utf8).write(to: file)
            } else {
                tokens.account.withLock { $0 = "bob" }
            }
            let second = try world.launch(plugins: [AuthPlugin(tokenProvider: tokens)])
            async let reply = second.client.upload(endpoint(file), in: second.transfers)
            await world.system.resumed(2)
            #expect(world.system.tasks.keys.sorted() == [2])
            world.system.respond(to: 2, 201, [:], body)
            #expect(try await reply == Reply(id: 7))
            lost.cancel()
            _ = await lost.result
        }
    }

    /// The system does not know the task any more, and does not say what became of it.
    @Test(arguments: [false, true])
    func aLostUploadIsSentAgainOnlyWithAKey(hasKey: Bool) async throws {
        try await BackgroundWorld.run { world in
            let file = try file(in: world)
            let options = RequestOptions().with(\.idempotencyKey, value: hasKey ? .value("k") : nil)
            let policy = RetryPolicy(backoffStrategy: .constant(1))
            let first = try world.launch(retry: policy)
            let lost = Task { try await first.client.upload(endpoint(file), in: first.transfers, options: options) }
            await world.system.resumed(1)
            try world.kill()
            world.system.lose(1)
            let second = try world.launch(retry: policy)
            let reply = Task { try await second.client.upload(endpoint(file), in: second.transfers, options: options) }
            await second.clock.sleepers(atLeast: 1, for: .timeout)
            #expect(world.system.resumed == [1])
            await second.clock.advance(by: 5)
            if hasKey {
                await world.system.resumed(2)
                world.system.respond(to: 2, 201, [:], body)
                #expect(try await reply.value == Reply(id: 7))
            } else {
                await #expect(throws: PulseError.self) { try await reply.value }
                #expect(world.system.resumed == [1])
            }
            lost.cancel()
            _ = await lost.result
        }
    }

    @Test func aCancelledUploadIsCancelledInTheSystem() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers) }
            await world.system.resumed(1)
            call.cancel()
            await #expect(throws: PulseError.self) { try await call.value }
            #expect(world.system.tasks.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: app.file("transfers").path).isEmpty)
        }
    }

    @Test func aSecondCallForTheSameUploadIsBusy() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            async let reply = app.client.upload(endpoint(file), in: app.transfers)
            await world.system.resumed(1)
            do {
                _ = try await app.client.upload(endpoint(file), in: app.transfers)
                Issue.record("no error")
            } catch PulseError.transport(_, let failure as TransferFailure) {
                #expect(failure == .busy)
            }
            world.system.respond(to: 1, 201, [:], body)
            _ = try await reply
        }
    }

    /// Neither a refused call nor a cancelled one ends what another call waits for.
    @Test func aRefusedCallLeavesTheUploadToItsOwner() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            async let reply = app.client.upload(endpoint(file), in: app.transfers)
            await world.system.resumed(1)
            for _ in 0..<2 {
                let second = Task { try await app.client.upload(endpoint(file), in: app.transfers) }
                second.cancel()
                await #expect(throws: PulseError.self) { try await second.value }
                await #expect(throws: PulseError.self) {
                    try await app.client.upload(endpoint(file), in: app.transfers)
                }
            }
            world.system.respond(to: 1, 201, [:], body)
            _ = try await reply
        }
    }

    @Test func whatCannotHoldInTheBackgroundIsUnsupported() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            let refused: [(Request<Reply>, RequestOptions)] = [
                (Request(.post, "/videos").body(.text("in memory")), RequestOptions()),
                (Request(.get, "/videos"), RequestOptions()),
                (Request(.get, "/videos").body(.file(file)), RequestOptions()),
                (endpoint(file), RequestOptions().with(\.idempotencyKey, value: .automatic)),
                (endpoint(file), RequestOptions().with(\.redirectPolicy, value: .refuse)),
                (endpoint(file), RequestOptions().with(\.redirectPolicy, value: .custom { _, next in next })),
            ]
            for (endpoint, options) in refused {
                do {
                    _ = try await app.client.upload(endpoint, in: app.transfers, options: options)
                    Issue.record("no error")
                } catch PulseError.unsupported {
                }
            }
            #expect(world.system.resumed.isEmpty)
        }
    }

    @Test func aLargeResponseIsAnError() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers) }
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, [:], Data(count: BackgroundCoordinator.bodyLimit + 1))
            do {
                _ = try await call.value
                Issue.record("no error")
            } catch PulseError.responseTooLarge(let limit) {
                #expect(limit == BackgroundCoordinator.bodyLimit)
            }
        }
    }

    @Test func aRedirectToCleartextIsAnError() async throws {
        try await BackgroundWorld.run { world in
            let (app, file) = (try world.launch(), try file(in: world))
            let call = Task { try await app.client.upload(endpoint(file), in: app.transfers) }
            await world.system.resumed(1)
            world.system.respond(to: 1, 200, [:], body, from: "http://example.com/")
            await #expect(throws: PulseError.self) { try await call.value }
        }
    }
}
