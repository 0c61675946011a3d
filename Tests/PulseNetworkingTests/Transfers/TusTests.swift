// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import PulseTransfers
import TestSupport
import Testing

/// Resumable uploads over real sockets.
@Suite(.tags(.threads), .throttled)
struct TusTests {
    private typealias Put = TusFixture.Put

    private struct Receipt: Codable, Sendable, Equatable {
        let name: String
    }

    @Test func anUploadIsCreatedAndItsLastResponseIsDecoded() async throws {
        struct Post: Endpoint {
            typealias Response = Receipt
            let path = "/up"
            let method = HTTPMethod.post
            let body: RequestBody
        }
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.finishing(with: try .json(Receipt(name: "video")))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                let heard = Heard()
                let receipt = try await client.upload(
                    Post(body: .file(file)), resuming: resumption, progress: heard.take)
                #expect(receipt == Receipt(name: "video"))
                #expect(uploads.uploads.map(\.data) == [data])
                #expect(uploads.uploads.first?.metadata == ["filename": "vidéo.mp4", "empty": ""])
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH"])
                #expect(heard.reports.last?.completed == 1 << 20 && heard.reports.last?.total == 1 << 20)
                #expect(heard.reports.allSatisfy { $0.attempt == 1 })
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    @Test func aDirectoryThatOthersMayWriteToIsUsedWithAWarning() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, data, resumption in
                let directory = resumption.directory
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                chmod(directory.path, 0o777)
                let events = PulseEventBus()
                let heard = events.events
                let client = TusFixture.client(server, events: events)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data])
                for await case .warning(let text) in heard {
                    #expect(text.contains("resumable uploads"))
                    break
                }
                await client.shutdown()
            }
        }
    }

    @Test func lossesGoOnAtTheServersOffset() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            for bytes in [0, 300_000, 1, 1 << 20] { uploads.dropping(after: bytes) }
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data] && uploads.createdCount == 1)
                let offsets = server.requests.filter { $0.method == .patch }.map { $0.headers["Upload-Offset"] }
                #expect(offsets == ["0", "0", "300000", "300001"])
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    enum Change: CaseIterable { case none, file, expiry, record }

    @Test(arguments: Change.allCases)
    func aLaterUploadGoesOn(after change: Change) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 400_000)
            try await TusFixture.withFile { file, data, resumption in
                let first = TusFixture.client(server, plugins: [TusFixture.noHEAD])
                await #expect(throws: PulseError.self) { try await first.upload(Put(file), resuming: resumption) }
                await first.shutdown()
                let record = resumption.directory.appendingPathComponent(
                    try #require(TusFixture.names(resumption).first))
                let permissions = try FileManager.default.attributesOfItem(atPath: record.path)[.posixPermissions]
                #expect(permissions as? Int == 0o600)
                var data = data
                switch change {
                case .none: break
                case .file:
                    data += Data("more".utf8)
                    try data.write(to: file)
                case .expiry: uploads.forgetAll()
                case .record:
                    var text = try Data(contentsOf: record)
                    text[text.count - 1] ^= 1
                    try text.write(to: record)
                }
                let before = server.requests.count
                let client = TusFixture.client(server)
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(uploads.uploads.contains { $0.data == data })
                let methods = Array(TusFixture.methods(server).dropFirst(before))
                switch change {
                case .none:
                    #expect(methods == ["HEAD", "PATCH"])
                    #expect(server.requests.last?.headers["Upload-Offset"] == "400000")
                    #expect(heard.reports.first?.completed == 400_000)
                case .expiry: #expect(methods == ["HEAD", "POST", "PATCH"])
                case .file, .record: #expect(methods == ["OPTIONS", "POST", "PATCH"])
                }
                #expect(heard.reports.last?.completed == Int64(data.count) && heard.reports.last?.attempt == 1)
                await client.shutdown()
            }
        }
    }

    /// Without the protocol, no server gets the file.
    @Test func aServerWithoutTheProtocolIsUnsupported() async throws {
        try await MockServer.run { server in
            server.on(.put, "/up") { _ in .status(204) }
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.kind == .unsupported)
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST"])
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    @Test(arguments: [["Tus-Version": "0.2.2"], ["Tus-Version": "1.0.0"], ["Tus-Resumable": "1.0.0"]])
    func aServerThatLacksWhatIsNeededGetsNoFile(headers: HTTPHeaders) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.options, with: .status(204, headers: headers))
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.kind == .unsupported)
                #expect(TusFixture.methods(server) == ["OPTIONS"])
                await client.shutdown()
            }
        }
    }

    /// `OPTIONS` is optional.
    @Test(arguments: [200, 400, 404, 405, 501])
    func aServerMayHaveNoOPTIONS(status: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.options, with: .status(status))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server, retry: .none)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH"])
                #expect(uploads.uploads.map(\.data) == [data])
                await client.shutdown()
            }
        }
    }

    /// What a server says of an upload that it does not honor. Twice, the error says so; the next call starts again.
    @Test(arguments: ["200", "200 1048577", "200 x", "200 -1", "400", "405", "412", "422"], [1, 2])
    func anUploadThatIsNotHonoredIsCreatedOnceMore(head: String, times: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            for _ in 0..<times { uploads.dropping(after: 10) }
            let words = head.split(separator: " ").map(String.init)
            let status = try #require(Int(words[0]))
            server.on(.head, "/up/{id}") { _ in
                .status(status, headers: words.count > 1 ? ["Upload-Offset": words[1]] : [:])
            }
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                let again = ["OPTIONS", "POST", "PATCH", "HEAD", "POST", "PATCH"]
                if times == 1 {
                    _ = try await client.upload(Put(file), resuming: resumption)
                    #expect(TusFixture.methods(server) == again)
                } else {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.upload(Put(file), resuming: resumption)
                    }
                    if status == 200 {
                        guard case .transport(.badServerResponse, TransferFailure.rejectedOffset) = error else {
                            Issue.record("\(String(describing: error))")
                            return
                        }
                    } else {
                        #expect(error?.statusCode == status)
                    }
                    #expect(TusFixture.methods(server) == again + ["HEAD"])
                    #expect(TusFixture.names(resumption) == [])
                    _ = try await client.upload(Put(file), resuming: resumption)
                }
                #expect(uploads.uploads.contains { $0.data == data })
                await client.shutdown()
            }
        }
    }

    /// A part that the server refuses would be refused each time. The next call starts again.
    @Test(arguments: [400, 412, 413, 415, 422])
    func anUploadWhosePartsAreRefusedIsCreatedOnceMore(status: Int) async throws {
        try await MockServer.run { server in
            _ = server.serveTus(at: "/up")
            server.on(.patch, "/up/{id}") { _ in .status(status) }
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.statusCode == status)
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH", "POST", "PATCH"])
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    /// The caller may do something about these.
    @Test(arguments: [401, 407])
    func aRefusedCallerKeepsTheUpload(status: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 400_000)
            uploads.answering(.head, with: .status(status))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.statusCode == status)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(TusFixture.methods(server).suffix(3) == ["HEAD", "HEAD", "PATCH"])
                #expect(uploads.uploads.map(\.data) == [data])
                await client.shutdown()
            }
        }
    }

    @Test(arguments: [nil, "-1", "x", "1048577"] as [String?])
    func aPartWithoutAUsableOffsetIsAskedFor(offset: String?) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(204, headers: offset.map { ["Upload-Offset": $0] } ?? [:]))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH", "HEAD", "PATCH"])
                #expect(uploads.uploads.map(\.data) == [data])
                await client.shutdown()
            }
        }
    }

    /// Such a server has created nothing.
    @Test(arguments: [0, 1 << 20])
    func aSuccessWithoutALocationIsNoUpload(size: Int) async throws {
        try await MockServer.run { server in
            server.on(.post, "/up") { _ in .status(201) }
            try await TusFixture.withFile { file, data, resumption in
                try data.prefix(size).write(to: file)
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                guard case .transport(.badServerResponse, _) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST"])
                await client.shutdown()
            }
        }
    }

    @Test func anEmptyFileIsCompleteAtItsCreation() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, _, resumption in
                try Data().write(to: file)
                let client = TusFixture.client(server)
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST"] && uploads.createdCount == 1)
                #expect(heard.reports == [TransferProgress(completed: 0, total: 0)])
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    /// An upload that is always gone is created again once.
    @Test func anUploadThatIsGoneIsCreatedOnceMore() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            server.on(.patch, "/up/{id}") { _ in .status(410) }
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.statusCode == 410 && uploads.createdCount == 2)
                #expect(TusFixture.names(resumption) == [])
                await client.shutdown()
            }
        }
    }

    @Test func badSettingsAreErrorsBeforeAnythingIsSent() async throws {
        try await MockServer.run { server in
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                for key in ["", "a b", "a,b", "ä"] {
                    let error = await #expect(throws: PulseError.self) {
                        try await client.upload(
                            Put(file),
                            resuming: UploadResumption(directory: resumption.directory, metadata: [key: "value"]))
                    }
                    #expect(error?.kind == .invalidRequest)
                }
                var bytes = Put(file)
                bytes.body = .text("no file")
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(bytes, resuming: resumption)
                }
                #expect(error?.kind == .unsupported)
                #expect(server.requests.isEmpty)
                await client.shutdown()
            }
        }
    }

    @Test func anUploadElsewhereGetsNoSecret() async throws {
        try await MockServer.run { other in
            let uploads = other.serveTus(at: "/up")
            try await MockServer.run { server in
                _ = server.serveTus(at: "/up")
                server.on(.post, "/up") { _ in .status(201, headers: ["Location": "\(other.baseURL)/up/1"]) }
                try await TusFixture.withFile { file, data, resumption in
                    // Created there before.
                    var creation = URLRequest(url: other.baseURL.appendingPathComponent("up"))
                    creation.httpMethod = "POST"
                    creation.setValue("\(data.count)", forHTTPHeaderField: "Upload-Length")
                    creation.setValue("1.0.0", forHTTPHeaderField: "Tus-Resumable")
                    let client = TusFixture.client(server)
                    _ = try await client.rawRequest(creation)
                    var endpoint = Put(file)
                    endpoint.headers = ["Authorization": "Bearer secret", "X-Plain": "p"]
                    _ = try await client.upload(endpoint, resuming: resumption)
                    #expect(uploads.uploads.map(\.data) == [data])
                    #expect(server.requests.allSatisfy { $0.headers["Authorization"] == "Bearer secret" })
                    let patch = other.requests.last
                    #expect(patch?.method == .patch && patch?.headers["X-Plain"] == "p")
                    #expect(patch?.headers["Authorization"] == nil)
                    await client.shutdown()
                }
            }
        }
    }
}
