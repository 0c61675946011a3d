// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseNetworking
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct BodyEncoderTests {
    private static func sent(_ body: RequestBody) async throws -> TransportRequest {
        let stage = ClientStage()
        _ = try await stage.client.request(GetUser(method: .post, body: body))
        return try #require(stage.transportRequests.first)
    }

    private static func bytes(of request: TransportRequest) async throws -> (length: Int64?, data: Data) {
        switch request.body {
        case .none: return (0, Data())
        case .bytes(let data): return (Int64(data.count), data)
        case .file(let url): return (nil, try Data(contentsOf: url))
        case .stream(let stream): return (stream.length, try await stream.make().collect(upTo: 16 << 20))
        }
    }

    private static func withFile<Value>(_ data: Data, _ body: (URL) async throws -> Value) async throws -> Value {
        // In a directory of its own: other tests use the threads of the temporary one.
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let url = directory.appendingPathComponent("file")
        try data.write(to: url)
        return try await body(url)
    }

    @Test func aFormOfDataPartsIsEncodedToBytes() async throws {
        let form = MultipartFormData(parts: [
            .init(name: "a", data: Data("1".utf8)), .init(name: "b", data: Data("2".utf8)),
        ])
        let request = try await Self.sent(.multipart(form))
        guard case .bytes(let data) = request.body else {
            Issue.record("\(request.body)")
            return
        }
        let type = try #require(request.urlRequest.value(forHTTPHeaderField: "Content-Type"))
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.hasPrefix("--\(boundary)\r\n"))
        #expect(text.hasSuffix("--\(boundary)--\r\n"))
        #expect(request.urlRequest.httpBody == data)
    }

    @Test(arguments: [
        "multipart/form-data", "multipart/form-data; charset=utf-8", "Multipart/Form-Data;", "multipart/mixed",
        "multipart/form-data; boundary=\"b-1\"", "multipart/form-data; a=b; boundary=b-1",
    ])
    func aFormUsesTheBoundaryOfItsContentType(type: String) async throws {
        let stage = ClientStage()
        let form = MultipartFormData(parts: [.init(name: "a", data: Data("1".utf8))])
        _ = try await stage.client.request(
            GetUser(method: .post, headers: ["content-type": type], body: .multipart(form)))
        let request = try #require(stage.transportRequests.first)
        let sent = try #require(request.urlRequest.value(forHTTPHeaderField: "Content-Type"))
        #expect(sent.hasPrefix(String(type.prefix { $0 != ";" })))
        let boundary = try #require(MultipartFormData.boundary(in: sent))
        #expect(type.contains("b-1") == (boundary == "b-1"))
        let text = String(decoding: try await Self.bytes(of: request).data, as: UTF8.self)
        #expect(text.hasPrefix("--\(boundary)\r\n") && text.hasSuffix("--\(boundary)--\r\n"))
        #expect(request.urlRequest.allHTTPHeaderFields?.keys.count { $0.lowercased() == "content-type" } == 1)
    }

    @Test func aCallersContentTypeThatIsNotMultipartIsKept() async throws {
        let stage = ClientStage()
        let form = MultipartFormData(parts: [.init(name: "a", data: Data("1".utf8))])
        _ = try await stage.client.request(
            GetUser(method: .post, headers: ["Content-Type": "application/x"], body: .multipart(form)))
        let request = try #require(stage.transportRequests.first)
        #expect(request.urlRequest.value(forHTTPHeaderField: "Content-Type") == "application/x")
    }

    @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 1_000_003])
    func aFormWithAFileBecomesARepeatableStreamOfExactLength(size: Int) async throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await Self.withFile(content) { file in
            let form = MultipartFormData(parts: [.init(name: "a", data: Data("1".utf8)), .init(name: "f", file: file)])
            let request = try await Self.sent(.multipart(form))
            guard case .stream(let stream) = request.body else {
                Issue.record("\(request.body)")
                return
            }
            #expect(!stream.isOneShot)
            for _ in 0..<2 {
                let (length, data) = try await Self.bytes(of: request)
                #expect(length == Int64(data.count))
                #expect(data.range(of: content) != nil || content.isEmpty)
                #expect(String(decoding: data.suffix(4), as: UTF8.self) == "--\r\n")
            }
        }
    }

    /// A disk that hangs would stop all tasks otherwise.
    @Test func theFilesOfAFormAreReadOnThreadsThatMayWait() async throws {
        try await Self.withFile(Data(repeating: 1, count: 1000)) { file in
            let request = try await Self.sent(.multipart(MultipartFormData(parts: [.init(name: "f", file: file)])))
            let (disk, isRead) = (DispatchSemaphore(value: 0), Locked(false))
            BlockingThreadPool.files(of: file).begin { disk.wait() }
            let reader = Task {
                defer { isRead.withLock { $0 = true } }
                return try await Self.bytes(of: request)
            }
            for _ in 0..<1000 { await Task.yield() }
            #expect(!isRead.withLock { $0 })
            disk.signal()
            let (length, data) = try await reader.value
            #expect(length == Int64(data.count))
        }
    }

    @Test(arguments: [10, 999, 1001, 2000])
    func aFileWhoseLengthChangesDuringTheUploadFailsTheBody(length: Int) async throws {
        try await Self.withFile(Data(repeating: 1, count: 1000)) { file in
            let request = try await Self.sent(.multipart(MultipartFormData(parts: [.init(name: "f", file: file)])))
            try Data(repeating: 1, count: length).write(to: file)
            try await Self.failsAsExhausted(request)
        }
    }

    @Test func aFileThatDisappearsBeforeTheUploadFailsTheBody() async throws {
        try await Self.withFile(Data(repeating: 1, count: 1000)) { file in
            let request = try await Self.sent(.multipart(MultipartFormData(parts: [.init(name: "f", file: file)])))
            try FileManager.default.removeItem(at: file)
            try await Self.failsAsExhausted(request)
        }
    }

    private static func failsAsExhausted(_ request: TransportRequest) async throws {
        let error = await #expect(throws: PulseError.self) { try await bytes(of: request) }
        guard case .transport(.requestBodyStreamExhausted, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.phase == .maybeSent)
    }

    @Test func aFileBodyIsPassedByReferenceAndNotLoaded() async throws {
        try await Self.withFile(Data("content".utf8)) { file in
            let request = try await Self.sent(.file(file, contentType: "a/b"))
            #expect(request.urlRequest.httpBody == nil)
            #expect(request.urlRequest.value(forHTTPHeaderField: "Content-Type") == "a/b")
            let (_, data) = try await Self.bytes(of: request)
            #expect(data == Data("content".utf8))
        }
    }

    @Test func anEncoderThatThrowsIsAnEncodingFailure() async throws {
        struct Broken: RequestEncoder {
            let contentType = "x/y"
            func encode(_ value: some Encodable) throws -> Data { throw CocoaError(.coderInvalidValue) }
        }
        let stage = ClientStage()
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.request(
                GetUser(method: .post, body: .json(User())), options: .init().with(\.encoder, value: Broken()))
        }
        #expect(error?.kind == .encodingFailed)
        let number = await #expect(throws: PulseError.self) {
            try await stage.client.request(GetUser(method: .post, body: .json(Double.nan)))
        }
        #expect(number?.kind == .encodingFailed)
        #expect(stage.requests.isEmpty)
    }

    @Test func anEncodedBodyIsEncodedOnceForAllAttempts() async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(503), .status(503), .json(User()))])
        let policy = RetryPolicy.immediate()
        let client = ClientStage.client(retry: policy, over: transport)
        let count = Locked<UInt8>(0)
        let body = RequestBody.encoded(contentType: "application/x-protobuf") {
            count.withLock { $0 += 1 }
            return Data([0x0A, count.withLock { $0 }])
        }
        _ = try await client.request(GetUser(method: .put, body: body))
        #expect(transport.requests.map(\.httpBody) == Array(repeating: Data([0x0A, 1]), count: 3))
        #expect(
            transport.requests.allSatisfy { $0.value(forHTTPHeaderField: "Content-Type") == "application/x-protobuf" })
        _ = try await client.request(GetUser(method: .put, headers: ["content-type": "a/b"], body: body))
        #expect(transport.requests.last?.httpBody == Data([0x0A, 2]))
        #expect(transport.requests.last?.value(forHTTPHeaderField: "Content-Type") == "a/b")
    }

    @Test func anEncodedBodyWhoseClosureThrowsIsAnEncodingFailure() async throws {
        let stage = ClientStage()
        func error(_ body: RequestBody) async -> PulseError? {
            await #expect(throws: PulseError.self) {
                try await stage.client.request(GetUser(method: .post, body: body))
            }
        }
        let failed = await error(.encoded(contentType: "a/b") { throw CocoaError(.coderInvalidValue) })
        guard case .encodingFailed(let cause as CocoaError) = failed else {
            Issue.record("\(String(describing: failed))")
            return
        }
        #expect(cause.code == .coderInvalidValue)
        #expect(await error(.encoded(contentType: "a/b") { throw PulseError.unsupported("x") })?.kind == .unsupported)
        #expect(await error(.encoded(contentType: "a/b\r\nX: y") { Data() })?.kind == .invalidRequest)
        #expect(stage.requests.isEmpty)
    }
}
