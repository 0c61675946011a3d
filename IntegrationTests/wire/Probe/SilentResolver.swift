// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Calls to a name that never resolves, beside calls that must not wait for it. In a network of its own, whose port 53
/// it uses.
enum SilentResolver {
    /// The outcome of each call, by its name.
    static func play() async throws -> [String: String] {
        let port = try listenWithoutResponding()
        defer { close(port) }
        let server = try await MockServer.start()
        server.fallback { _ in .text("answer") }
        let transport = SocketTransport()
        guard let lost = URL(string: "http://never.example/") else { return [:] }
        var outcomes: [String: String] = [:]

        let cancelled = Task { try await transport.send(TransportRequest(urlRequest: URLRequest(url: lost))) }
        outcomes["beside"] = await Outcome.text(
            of: Task { try await responses(to: 20, of: transport, at: server.baseURL) })
        cancelled.cancel()
        outcomes["after the cancel"] = await Outcome.text(
            of: Task { try await responses(to: 20, of: transport, at: server.baseURL) })
        outcomes["cancelled"] = await Outcome.text(of: cancelled)

        var request = TransportRequest(urlRequest: URLRequest(url: lost))
        request.connectTimeout = 0.3
        outcomes["timed out"] = await Outcome.text(of: Task { [request] in try await transport.send(request) })
        outcomes["after the timeout"] = await Outcome.text(
            of: Task { try await responses(to: 20, of: transport, at: server.baseURL) })

        let left = Task { try await transport.send(TransportRequest(urlRequest: URLRequest(url: lost))) }
        _ = try await responses(to: 1, of: transport, at: server.baseURL)
        await transport.shutdown()
        outcomes["shut down"] = await Outcome.text(of: left)
        await server.shutdown()
        return outcomes
    }

    /// The last of that many responses. Cancels the calls if they take nearly fifteen seconds, the time limit of a
    /// resolver.
    private static func responses(
        to count: Int, of transport: SocketTransport, at url: URL
    ) async throws -> PulseResponse {
        let calls = (0..<max(1, count)).map { _ in
            Task { try await transport.send(TransportRequest(urlRequest: URLRequest(url: url))) }
        }
        let limit = Task {
            try await Task.sleep(nanoseconds: 12_000_000_000)
            for call in calls { call.cancel() }
        }
        defer { limit.cancel() }
        for call in calls.dropLast() { _ = try await call.value }
        return try await calls[calls.count - 1].value
    }

    private static func listenWithoutResponding() throws -> Int32 {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_DGRAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return descriptor
    }
}

enum Outcome {
    /// The outcome of a call: the response's body, or the error.
    static func text(of task: Task<PulseResponse, any Error>) async -> String {
        switch await task.result {
        case .success(let response): String(decoding: response.data, as: UTF8.self)
        case .failure(let error):
            switch PulseError(wrapping: error) {
            case .transport(let code, let cause):
                "\(code.rawValue) \((cause as? TransportFailure).map { "\($0.phase)" } ?? "")"
            case let error: error.kind.rawValue
            }
        }
    }
}
