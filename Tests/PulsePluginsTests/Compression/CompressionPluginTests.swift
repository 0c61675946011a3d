// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct CompressionPluginTests {
    private let text = Data(String(repeating: "all work and no play ", count: 100).utf8)

    /// The request that inner plugins see, and its body.
    private func sent(
        _ request: URLRequest, by plugin: CompressionPlugin = .compression(), in context: PluginContext? = nil
    ) async throws -> (request: URLRequest, body: PluginContext.Body) {
        let seen = Locked<PluginContext.Body?>(nil)
        let chain = PluginChain.mock([plugin, BodyProbe(seen: seen)], context: context ?? .mock(for: request)) {
            PulseResponse(statusCode: 200, request: $0)
        }
        let response = try await chain(request)
        return (response.request, seen.withLock { $0 } ?? .inRequest)
    }

    private struct BodyProbe: PulsePlugin {
        let identifier = "test.body"
        let seen: Locked<PluginContext.Body?>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            seen.withLock { $0 = context.body }
        }
    }

    @Test func aCompressedBodyHasAContentEncoding() async throws {
        let (request, _) = try await sent(.mock(.post, body: text))
        let body = try #require(request.httpBody)
        #expect(body.count < text.count / 10)
        #expect(body.starts(with: [0x1F, 0x8B, 8]))
        #expect(request["Content-Encoding"] == "gzip")
        #expect(CompressionPlugin().scope == .call)
    }

    @Test func compressionIsDeterministic() async throws {
        let bodies = [
            try await sent(.mock(.post, body: text)).request.httpBody,
            try await sent(.mock(.post, body: text)).request.httpBody,
        ]
        #expect(bodies[0] == bodies[1])
    }

    @Test func anOutdatedContentLengthIsRemoved() async throws {
        let request = URLRequest.mock(.post, headers: ["Content-Length": "2100", "X-A": "1"], body: text)
        let (sent, _) = try await sent(request)
        #expect(sent["Content-Length"] == nil)
        #expect(sent["X-A"] == "1")
    }

    @Test(arguments: [
        "Content-Encoding", "content-encoding", "Content-Range", "Content-MD5", "Digest", "Content-Digest",
        "Repr-Digest",
    ])
    func aBodyDescribedByAHeaderIsNotCompressed(name: String) async throws {
        let request = URLRequest.mock(.post, headers: [name: "x"], body: text)
        let (sent, _) = try await sent(request)
        #expect(sent.httpBody == text)
        #expect(sent.allHTTPHeaderFields == request.allHTTPHeaderFields)
    }

    @Test func aBodyBelowTheMinimumLengthIsNotCompressed() async throws {
        for (count, isCompressed) in [(0, false), (1, false), (1023, false), (1024, true)] {
            let body = Data(repeating: 0, count: count)
            let (sent, _) = try await sent(.mock(.post, body: body))
            #expect((sent["Content-Encoding"] == "gzip") == isCompressed, "\(count)")
            #expect((sent.httpBody == body) == !isCompressed)
        }
        let short = Data(repeating: 0, count: 100)
        let own = try await sent(.mock(.post, body: short), by: CompressionPlugin(minimumLength: 100))
        #expect(own.request["Content-Encoding"] == "gzip")
    }

    @Test(arguments: [1024, 100_000, 1_000_000])
    func aBodyThatWouldNotShrinkIsNotCompressed(count: Int) async throws {
        let noise = GzipEcho.bytes(count, values: 256)
        let (sent, _) = try await sent(.mock(.post, body: noise))
        #expect(sent.httpBody == noise)
        #expect(sent["Content-Encoding"] == nil)
        let file = try TemporaryFile(noise)
        let request = URLRequest.mock(.post)
        let ofFile = try await self.sent(request, in: .mock(for: request, body: .file(file.url)))
        #expect(ofFile.request["Content-Encoding"] == nil)
        guard case .file(file.url) = ofFile.body else { return #expect(Bool(false), "\(ofFile.body)") }
    }

    @Test func aBodyThatHardlyShrinksIsGivenUpAfterTheFirstPiece() async throws {
        /// Returns nearly as many bytes as it receives.
        final class Idle: RawDeflate {
            let taken: Locked<Int>

            init(_ taken: Locked<Int>) {
                self.taken = taken
            }

            func compress(_ bytes: UnsafeRawBufferPointer) -> Data {
                taken.withLock { $0 += bytes.count }
                return Data(bytes.dropLast(1 << 14))
            }

            func finish() -> Data { Data() }
        }
        let taken = Locked(0)
        let plugin = CompressionPlugin(minimumLength: 1, includesStreams: false) { Idle(taken) }
        let body = Data(count: 5 << 20)
        let (sent, _) = try await sent(.mock(.post, body: body), by: plugin)
        #expect(sent.httpBody == body)
        #expect(taken.withLock { $0 } == 256 << 10)
        let file = try TemporaryFile(body)
        let request = URLRequest.mock(.post)
        _ = try await self.sent(request, by: plugin, in: .mock(for: request, body: .file(file.url)))
        #expect(taken.withLock { $0 } == 512 << 10)
    }

    @Test func aRequestWithoutABodyIsUnchanged() async throws {
        let (sent, _) = try await sent(.mock(.get, headers: ["X-A": "1"]))
        #expect(sent.allHTTPHeaderFields == ["X-A": "1"])
        #expect(sent.httpBody == nil)
    }

    @Test func aRequestToAForeignOriginPassesUnchanged() async throws {
        let request = URLRequest.mock(.post, "https://elsewhere.example/", body: text)
        let (sent, _) = try await sent(request, in: .mock(for: .mock()))
        #expect(sent.httpBody == text)
        #expect(sent["Content-Encoding"] == nil)
    }

    @Test func aClientWithoutHomeOriginsCompressesForAllOrigins() async throws {
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let client = ClientStage.client(
            PulseConfiguration(), plugins: [.compression()], over: transport)
        let request = Request<Data>(.post, "https://api.example.com/a").body(.data(text))
        _ = try await client.rawRequest(request)
        #expect(transport.requests[0]["Content-Encoding"] == "gzip")
        await client.shutdown()
    }

    @Test func aFileIsSentAsATemporaryFileThatIsRemoved() async throws {
        let file = try TemporaryFile(Data(repeating: 7, count: 600_000))
        let request = URLRequest.mock(.put)
        let seen = Locked<(size: Int, mode: Int)?>(nil)
        let target = Locked<URL?>(nil)
        let chain = PluginChain.mock(
            [.compression(), FileProbe(seen: seen, target: target)], context: .mock(for: request, body: .file(file.url))
        ) { PulseResponse(statusCode: 200, request: $0) }
        let response = try await chain(request)
        #expect(response.request["Content-Encoding"] == "gzip")
        let (size, mode) = try #require(seen.withLock { $0 })
        #expect((1..<6000).contains(size))
        #expect(mode == 0o600)
        let url = try #require(target.withLock { $0 })
        #expect(url != file.url)
        #expect(!FileManager.default.fileExists(atPath: url.path))
        #expect(FileManager.default.fileExists(atPath: file.url.path))
    }

    private struct FileProbe: PulsePlugin {
        let identifier = "test.file"
        let seen: Locked<(size: Int, mode: Int)?>
        let target: Locked<URL?>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            guard case .file(let url) = context.body else { return }
            let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
            let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
            let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
            seen.withLock { $0 = (size, mode) }
            target.withLock { $0 = url }
        }
    }

    @Test func aMissingFileIsLeftToTheTransport() async throws {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent("test-\(UUID().uuidString)")
        let request = URLRequest.mock(.put)
        let (sent, body) = try await sent(request, in: .mock(for: request, body: .file(missing)))
        #expect(sent["Content-Encoding"] == nil)
        guard case .file(missing) = body else { return #expect(Bool(false), "\(body)") }
    }

    @Test func aStreamIsCompressedOnlyOnDemand() async throws {
        let request = URLRequest.mock(.put)
        let stream = RequestBody.Stream(length: 5000, isOneShot: true) { ByteStream([Data(repeating: 7, count: 5000)]) }
        let context = PluginContext.mock(for: request, body: .stream(stream))
        let plain = try await sent(request, in: context)
        #expect(plain.request["Content-Encoding"] == nil)
        let coded = try await sent(request, by: CompressionPlugin(includesStreams: true), in: context)
        #expect(coded.request["Content-Encoding"] == "gzip")
        guard case .stream(let inner) = coded.body else { return #expect(Bool(false), "\(coded.body)") }
        #expect(inner.length == nil)
        #expect(inner.isOneShot)
    }

    @Test func withoutACompressionLibraryRequestsPassAndOneWarningIsEmitted() async throws {
        let log = RecordingSink()
        let plugin = CompressionPlugin(minimumLength: 1024, includesStreams: false, make: nil)
        let request = URLRequest.mock(.post, body: text)
        let context = PluginContext.mock(for: request, events: log)
        for _ in 0..<3 {
            let (sent, _) = try await sent(request, by: plugin, in: context)
            #expect(sent.httpBody == text)
            #expect(sent["Content-Encoding"] == nil)
        }
        #expect(log.warnings.count == 1)
    }

    @Test func aCompressionErrorFailsTheCall() async {
        struct Failure: Error {}
        let plugin = CompressionPlugin(minimumLength: 1, includesStreams: false) {
            throw PulseError.encodingFailed(underlying: Failure())
        }
        let request = URLRequest.mock(.post, body: text)
        await #expect { try await sent(request, by: plugin) } throws: {
            PulseError(wrapping: $0).kind == .encodingFailed
        }
    }
}
