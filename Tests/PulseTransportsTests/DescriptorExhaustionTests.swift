// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import PulseTransports
import TestSupport
import Testing

#if canImport(Glibc) && os(Linux) && compiler(>=6.2)
/// Each test runs in its own process, which has used up its descriptors.
@Suite(.serialized, .throttled)
struct DescriptorExhaustionTests {
    @Test func aTransportWithoutDescriptorsReportsIt() async {
        await #expect(processExitsWith: .success) {
            let transport = SocketTransport()
            try Descriptors.exhaust(leaving: 0)
            let error = await Descriptors.failure(of: transport, "http://127.0.0.1:1/")
            try #require(error == "resourceUnavailable, beforeSend")
        }
    }

    @Test(arguments: ["http://127.0.0.1:1/", "https://127.0.0.1:1/", "http://localhost:1/", "https://localhost:1/"])
    func aConnectionWithoutASocketReportsIt(address: String) async {
        await #expect(processExitsWith: .success) { [address] in
            let server = try await MockServer.start()
            let transport = SocketTransport()
            // Starts the thread and the connections' poller.
            let warm = await Descriptors.failure(of: transport, server.baseURL.absoluteString)
            try #require(warm == nil)
            let taken = try Descriptors.exhaust(leaving: 0)
            let error = await Descriptors.failure(of: transport, address)
            try #require(error == "resourceUnavailable, beforeSend", "\(address): \(error ?? "")")
            Descriptors.free(taken)
            await transport.shutdown()
            await server.shutdown()
        }
    }

    /// The socket has the last descriptor: there is none for the CA file.
    @Test func aConnectionWithoutOtherDescriptorsReportsIt() async {
        await #expect(processExitsWith: .success) {
            let server = try await MockServer.start()
            let transport = SocketTransport()
            let warm = await Descriptors.failure(of: transport, server.baseURL.absoluteString)
            try #require(warm == nil)
            let other = try await MockServer.start()
            try Descriptors.exhaust(leaving: 1)
            let error = await Descriptors.failure(of: transport, "https://127.0.0.1:\(other.port)/")
            try #require(error == "resourceUnavailable, beforeSend", "\(error ?? "")")
        }
    }

    @Test func anUploadWithoutADescriptorForItsFileReportsIt() async {
        await #expect(processExitsWith: .success) {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try Data("payload".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let server = try await MockServer.start()
            let transport = SocketTransport()
            let warm = await Descriptors.failure(of: transport, server.baseURL.absoluteString)
            try #require(warm == nil)
            try Descriptors.exhaust(leaving: 0)
            let error = await Descriptors.failure(of: transport, server.baseURL.absoluteString, body: .file(file))
            try #require(error == "resourceUnavailable, beforeSend", "\(error ?? "")")
        }
    }

    @Test func aDownloadWithoutADescriptorForItsFileReportsIt() async {
        await #expect(processExitsWith: .success) {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            let server = try await MockServer.start()
            server.fallback { _ in .text("content") }
            let transport = SocketTransport()
            let warm = await Descriptors.failure(of: transport, server.baseURL.absoluteString)
            try #require(warm == nil)
            try Descriptors.exhaust(leaving: 0)
            // Uses the existing connection.
            let error = await Descriptors.failure(
                of: transport, server.baseURL.absoluteString, delivery: .file(file, resumeOffset: 0))
            try #require(error == "resourceUnavailable, responseStarted", "\(error ?? "")")
        }
    }

    private enum Descriptors {
        /// Opens files until the process has only that many descriptors left.
        @discardableResult
        static func exhaust(leaving count: Int) throws -> [Int32] {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            limit.rlim_cur = min(limit.rlim_cur, 512)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var taken: [Int32] = []
            while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
            for _ in 0..<count { close(taken.removeLast()) }
            return taken
        }

        static func free(_ taken: [Int32]) {
            for descriptor in taken { close(descriptor) }
        }

        /// Code and phase; nil for a success.
        static func failure(
            of transport: any Transport, _ address: String, body: TransportRequest.Body = .none,
            delivery: TransportRequest.Delivery = .buffered(limit: 1 << 20)
        ) async -> String? {
            guard let url = URL(string: address) else { return "no URL" }
            var urlRequest = URLRequest(url: url)
            if case .file = body { urlRequest.httpMethod = "PUT" }
            let request = TransportRequest(urlRequest: urlRequest, body: body, delivery: delivery, proxy: .direct)
            do {
                _ = try await transport.send(request)
                return nil
            } catch let failure as TransportFailure {
                return "\(failure.code.symbol), \(failure.phase)"
            } catch {
                return "\(error)"
            }
        }
    }
}
#endif
