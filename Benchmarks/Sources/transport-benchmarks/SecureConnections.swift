// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
import PulseKit
import Reporting

/// What connections over TLS cost: a handshake, and one that is kept for later requests.
struct SecureConnections: Codable {
    /// The number of idle connections, and the resident memory of each: after the allocator has given back what is
    /// free, and before.
    let count: Int
    let kibibytes: Double
    let untrimmedKibibytes: Double
    /// Milliseconds until a certificate is refused that no authority of the system has signed: the first time, which
    /// reads the authorities, and later.
    let first: Double
    let later: Double

    static func measured(server: URL, authority: Data?, isShort: Bool) throws -> SecureConnections {
        let outcome = Outcome()
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                let count = isShort ? 100 : 1000
                let idle = try await idleKibibytes(server: server, authority: authority, count: count)
                let first = try await handshake(server, count: 1)
                var later = Double.infinity
                for _ in 0..<(isShort ? 1 : 5) { later = min(later, try await handshake(server, count: 20)) }
                outcome.result = .success(
                    SecureConnections(
                        count: count, kibibytes: idle.trimmed, untrimmedKibibytes: idle.untrimmed, first: first,
                        later: later))
            } catch {
                outcome.result = .failure(error)
            }
            done.signal()
        }
        done.wait()
        return try outcome.result!.get()
    }

    private final class Outcome: @unchecked Sendable {
        // Unchecked: written before the semaphore is signaled, read after.
        var result: Result<SecureConnections, any Error>?
    }

    /// Opens connections by as many requests at a time, and measures once all are idle.
    private static func idleKibibytes(
        server: URL, authority: Data?, count: Int
    ) async throws -> (trimmed: Double, untrimmed: Double) {
        let tls = authority.map { TLSSettings(certificateAuthorities: [$0]) } ?? .default
        let configuration = PulseConfiguration(baseURL: server).with(\.tls, value: tls)
            .with(\.httpVersions, value: .http1).with(\.maxConnectionsPerHost, value: count)
        let client = PulseClient(configuration: configuration)
        // What the process loads once, and the memory of calls.
        _ = try await client.request(GetUser())
        trim()
        let before = ResidentMemory.size ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await client.request(GetUser()) } }
            try await group.waitForAll()
        }
        let all = (ResidentMemory.size ?? 0) - before
        trim()
        let kept = (ResidentMemory.size ?? 0) - before
        await client.shutdown()
        return (Double(kept) / 1024 / Double(count), Double(all) / 1024 / Double(count))
    }

    /// Gives the memory that is free back to the system: that of a thousand handshakes at a time belongs to no idle
    /// connection.
    private static func trim() {
        #if canImport(Glibc)
        typealias Trim = @convention(c) (Int) -> Int32
        if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: Trim.self)(0) }
        #endif
    }

    private static func handshake(_ server: URL, count: Int) async throws -> Double {
        let configuration = PulseConfiguration(baseURL: server).with(\.retryPolicy, value: .none)
        let client = PulseClient(configuration: configuration)
        let start = SystemClock().uptime
        for _ in 0..<count {
            guard (try? await client.request(GetUser())) == nil else { throw Trusted() }
        }
        let seconds = SystemClock().uptime - start
        await client.shutdown()
        return seconds * 1000 / Double(count)
    }

    private struct Trusted: Error {}
}
